"""scikit-learn estimators. Nothing numerical happens here: they check input, build problems and call ``solve``."""

from maxmargin.estimators.linear_rank_svm import LinearRankSVM
from maxmargin.estimators.linear_svc import LinearSVC

__all__ = ["LinearRankSVM", "LinearSVC"]
