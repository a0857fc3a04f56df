"""Problems made of labels: classes, weights, threads, cross-validation."""
