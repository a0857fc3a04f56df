"""The command's lists of names are written out for the sake of a quick start; they are those of the library."""

from maxmargin import LOSSES
from maxmargin.cli import cv, options
from maxmargin.io.data import SUFFIXES
from maxmargin.models.calibration import CALIBRATIONS
from maxmargin.problems.losses import REGRESSION_LOSSES
from maxmargin.problems.regulariser import REGULARISERS
from maxmargin.solvers.methods import SOLVERS, solvers_for
from maxmargin.training.classification import MULTI_CLASS


def test_names_of_solvers():
    kinds = ["binary", "l1", *MULTI_CLASS[1:]]
    assert set(options.CLASSIFICATION_SOLVERS) == {name for kind in kinds for name in solvers_for(kind)}
    assert set(options.CLASSIFICATION_SOLVERS) <= set(SOLVERS)
    assert tuple(solvers_for("regression")) == options.REGRESSION_SOLVERS
    assert tuple(solvers_for("one_class", penalize_bias=False)) == options.ONE_CLASS_SOLVERS
    assert tuple(solvers_for("ranking")) == options.RANKING_SOLVERS


def test_names_of_losses_formulations_and_formats():
    assert tuple(LOSSES) == options.LOSSES
    assert tuple(REGRESSION_LOSSES) == options.REGRESSION_LOSSES
    assert options.MULTI_CLASS == MULTI_CLASS
    assert tuple(REGULARISERS) == options.PENALTIES
    assert set(options.DATA_FORMATS) == {"svmlight", *SUFFIXES.values()}


def test_names_of_calibrations():
    assert cv.CALIBRATIONS == CALIBRATIONS
