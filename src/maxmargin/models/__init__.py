"""Trained models as plain arrays."""
