"""Methods for data that are read block by block: what they keep in memory does not grow with the stored values."""
