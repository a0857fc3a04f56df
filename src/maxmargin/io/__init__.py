"""Data in and models out. Nothing here imports scikit-learn, and scipy only where a scipy matrix is asked for."""
