"""Pictures of fits and models, with matplotlib (the extra ``[plot]``), in the manner of scikit-learn's displays."""
