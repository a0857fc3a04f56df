"""Linear support vector machines, trained to a certified duality gap.

The names below load on first use, so that ``import maxmargin`` costs little more than ``import numpy``
and never imports scikit-learn unless an estimator is touched.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.estimators.linear_rank_svm import LinearRankSVM
    from maxmargin.estimators.linear_rank_svm_cv import LinearRankSVMCV
    from maxmargin.estimators.linear_svc import LinearSVC
    from maxmargin.estimators.linear_svc_cv import LinearSVCCV
    from maxmargin.estimators.linear_svr import LinearSVR
    from maxmargin.estimators.linear_svr_cv import LinearSVRCV
    from maxmargin.estimators.model_files import load_model, save_model
    from maxmargin.estimators.one_class_svm import OneClassSVM
    from maxmargin.io.svmlight import SvmlightError, load_svmlight
    from maxmargin.io.svmlight_writer import save_svmlight
    from maxmargin.plots.confusion import ConfusionDisplay
    from maxmargin.plots.features import TopFeaturesDisplay
    from maxmargin.plots.history import HistoryDisplay, plot_history
    from maxmargin.plots.paths import PathDisplay, ScoreDisplay, plot_path
    from maxmargin.problems.binary import BinaryProblem
    from maxmargin.problems.certificate import Certificate
    from maxmargin.problems.losses import LOSSES, Loss
    from maxmargin.problems.matrix import Matrix
    from maxmargin.problems.measure import MeasureProblem
    from maxmargin.problems.multiclass import MulticlassProblem
    from maxmargin.problems.one_class import OneClassProblem
    from maxmargin.problems.ranking import RankingProblem, count_pairs, ndcg
    from maxmargin.problems.regression import RegressionProblem
    from maxmargin.solvers.active_set import ActiveSet
    from maxmargin.solvers.auto import Auto
    from maxmargin.solvers.cutting_plane import CuttingPlane
    from maxmargin.solvers.dual_coordinate_descent import DualCoordinateDescent
    from maxmargin.solvers.exponentiated_gradient import ExponentiatedGradient
    from maxmargin.solvers.method import Method
    from maxmargin.solvers.methods import SOLVERS
    from maxmargin.solvers.newton import Newton
    from maxmargin.solvers.pegasos import Pegasos
    from maxmargin.solvers.primal_coordinate_descent import PrimalCoordinateDescent
    from maxmargin.solvers.sequential_dual import SequentialDual
    from maxmargin.solvers.solution import Report, Snapshot, Solution
    from maxmargin.solvers.solve import solve
    from maxmargin.training.svm_path import Path, svm_path

__version__ = "0.2.0"

_HOMES = {
    "ActiveSet": "maxmargin.solvers.active_set",
    "Auto": "maxmargin.solvers.auto",
    "BinaryProblem": "maxmargin.problems.binary",
    "Blocks": "maxmargin.io.blocks",
    "BlocksError": "maxmargin.io.manifest",
    "Certificate": "maxmargin.problems.certificate",
    "ConfusionDisplay": "maxmargin.plots.confusion",
    "CuttingPlane": "maxmargin.solvers.cutting_plane",
    "DualCoordinateDescent": "maxmargin.solvers.dual_coordinate_descent",
    "ExponentiatedGradient": "maxmargin.solvers.exponentiated_gradient",
    "HistoryDisplay": "maxmargin.plots.history",
    "LOSSES": "maxmargin.problems.losses",
    "LinearRankSVM": "maxmargin.estimators.linear_rank_svm",
    "LinearRankSVMCV": "maxmargin.estimators.linear_rank_svm_cv",
    "LinearSVC": "maxmargin.estimators.linear_svc",
    "LinearSVCCV": "maxmargin.estimators.linear_svc_cv",
    "LinearSVRCV": "maxmargin.estimators.linear_svr_cv",
    "LinearSVR": "maxmargin.estimators.linear_svr",
    "Loss": "maxmargin.problems.losses",
    "Matrix": "maxmargin.problems.matrix",
    "MeasureProblem": "maxmargin.problems.measure",
    "Method": "maxmargin.solvers.method",
    "MulticlassProblem": "maxmargin.problems.multiclass",
    "Newton": "maxmargin.solvers.newton",
    "OneClassProblem": "maxmargin.problems.one_class",
    "OneClassSVM": "maxmargin.estimators.one_class_svm",
    "Path": "maxmargin.training.svm_path",
    "PathDisplay": "maxmargin.plots.paths",
    "Pegasos": "maxmargin.solvers.pegasos",
    "PrimalCoordinateDescent": "maxmargin.solvers.primal_coordinate_descent",
    "RankingProblem": "maxmargin.problems.ranking",
    "RegressionProblem": "maxmargin.problems.regression",
    "Report": "maxmargin.solvers.solution",
    "SOLVERS": "maxmargin.solvers.methods",
    "ScoreDisplay": "maxmargin.plots.paths",
    "SequentialDual": "maxmargin.solvers.sequential_dual",
    "Snapshot": "maxmargin.solvers.solution",
    "Solution": "maxmargin.solvers.solution",
    "SvmlightError": "maxmargin.io.svmlight",
    "TopFeaturesDisplay": "maxmargin.plots.features",
    "WorkingSets": "maxmargin.solvers.working_sets",
    "count_pairs": "maxmargin.problems.ranking",
    "load_model": "maxmargin.estimators.model_files",
    "load_svmlight": "maxmargin.io.svmlight",
    "ndcg": "maxmargin.problems.ranking",
    "open_blocks": "maxmargin.io.blocks",
    "plot_history": "maxmargin.plots.history",
    "plot_path": "maxmargin.plots.paths",
    "save_model": "maxmargin.estimators.model_files",
    "save_svmlight": "maxmargin.io.svmlight_writer",
    "solve": "maxmargin.solvers.solve",
    "svm_path": "maxmargin.training.svm_path",
    "write_blocks": "maxmargin.io.block_writer",
}

__all__ = [
    "LOSSES",
    "SOLVERS",
    "ActiveSet",
    "Auto",
    "BinaryProblem",
    "Blocks",
    "BlocksError",
    "Certificate",
    "ConfusionDisplay",
    "CuttingPlane",
    "DualCoordinateDescent",
    "ExponentiatedGradient",
    "HistoryDisplay",
    "LinearRankSVM",
    "LinearRankSVMCV",
    "LinearSVC",
    "LinearSVCCV",
    "LinearSVR",
    "LinearSVRCV",
    "Loss",
    "Matrix",
    "MeasureProblem",
    "Method",
    "MulticlassProblem",
    "Newton",
    "OneClassProblem",
    "OneClassSVM",
    "Path",
    "PathDisplay",
    "Pegasos",
    "PrimalCoordinateDescent",
    "RankingProblem",
    "RegressionProblem",
    "Report",
    "ScoreDisplay",
    "SequentialDual",
    "Snapshot",
    "Solution",
    "SvmlightError",
    "TopFeaturesDisplay",
    "WorkingSets",
    "count_pairs",
    "load_model",
    "load_svmlight",
    "ndcg",
    "open_blocks",
    "plot_history",
    "plot_path",
    "save_model",
    "save_svmlight",
    "solve",
    "svm_path",
    "write_blocks",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'maxmargin' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
