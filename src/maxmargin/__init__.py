"""Linear support vector machines, trained to a certified duality gap.

The names below load on first use, so that ``import maxmargin`` costs little more than ``import numpy``
and never imports scikit-learn unless an estimator is touched.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.estimators.linear_rank_svm import LinearRankSVM
    from maxmargin.estimators.linear_svc import LinearSVC
    from maxmargin.estimators.model_files import load_model, save_model
    from maxmargin.io.svmlight import SvmlightError, load_svmlight
    from maxmargin.io.svmlight_writer import save_svmlight
    from maxmargin.losses import LOSSES, Loss
    from maxmargin.multiclass import MulticlassProblem
    from maxmargin.problems import BinaryProblem, Certificate
    from maxmargin.ranking import RankingProblem, count_pairs, ndcg
    from maxmargin.solution import Report, Solution
    from maxmargin.solvers import SOLVERS, solve

__version__ = "0.1.0"

_HOMES = {
    "BinaryProblem": "maxmargin.problems",
    "Certificate": "maxmargin.problems",
    "LOSSES": "maxmargin.losses",
    "LinearRankSVM": "maxmargin.estimators.linear_rank_svm",
    "LinearSVC": "maxmargin.estimators.linear_svc",
    "Loss": "maxmargin.losses",
    "MulticlassProblem": "maxmargin.multiclass",
    "RankingProblem": "maxmargin.ranking",
    "Report": "maxmargin.solution",
    "SOLVERS": "maxmargin.solvers",
    "Solution": "maxmargin.solution",
    "SvmlightError": "maxmargin.io.svmlight",
    "count_pairs": "maxmargin.ranking",
    "load_model": "maxmargin.estimators.model_files",
    "load_svmlight": "maxmargin.io.svmlight",
    "ndcg": "maxmargin.ranking",
    "save_model": "maxmargin.estimators.model_files",
    "save_svmlight": "maxmargin.io.svmlight_writer",
    "solve": "maxmargin.solvers",
}

__all__ = [
    "LOSSES",
    "SOLVERS",
    "BinaryProblem",
    "Certificate",
    "LinearRankSVM",
    "LinearSVC",
    "Loss",
    "MulticlassProblem",
    "RankingProblem",
    "Report",
    "Solution",
    "SvmlightError",
    "count_pairs",
    "load_model",
    "load_svmlight",
    "ndcg",
    "save_model",
    "save_svmlight",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
