"""scikit-learn's own checks of an estimator.

The dual solvers and the problems over all classes are stochastic, and for such a solver scikit-learn expects its two
checks of exact weight equivalence to fail for its own LinearSVC too; "auto" for two classes and "newton" pass them.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from maxmargin import CuttingPlane, LinearRankSVM, LinearSVC, LinearSVR, OneClassSVM

STOCHASTIC = {
    f"check_sample_weight_equivalence_on_{kind}_data": "a stochastic solver's iterates depend on the rows"
    for kind in ("dense", "sparse")
}


def expected_failures(estimator):
    stochastic = getattr(estimator, "solver", None) in ("dcd", "avsf", "online")
    return STOCHASTIC if stochastic or getattr(estimator, "multi_class", "ovr") != "ovr" else {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [LinearSVC(), LinearSVC("hinge"), LinearSVC("least_squares"), LinearSVC(solver="newton"), LinearSVC(solver="pcd")]
    + [LinearSVC(loss, penalize_intercept=False) for loss in ("hinge", "squared_hinge")]
    + [LinearSVC("hinge", solver=solver) for solver in ("dcd", "avsf", "online", "cutting_plane")]
    + [LinearSVC(multi_class=multi_class) for multi_class in ("crammer_singer", "weston_watkins")]
    + [LinearSVR(), LinearSVR(epsilon=0.1, penalize_intercept=False), LinearSVR(solver="dcd")]
    + [LinearSVR("squared_epsilon_insensitive", epsilon=0.1), LinearSVR("least_squares", solver="pcd")]
    + [OneClassSVM(), OneClassSVM(nu=0.1, solver="dcd")]
    + [LinearRankSVM(), LinearRankSVM(solver=CuttingPlane(acceleration=False))],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
