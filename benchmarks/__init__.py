"""Measurements of maxmargin against other programs, run from the project's root: ``python -m benchmarks.speed``."""
