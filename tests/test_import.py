"""``import maxmargin`` is light; scikit-learn and scipy load only when an estimator is touched."""

import subprocess
import sys

import pytest

import maxmargin


def modules_after(code):
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint(*sys.modules)"], capture_output=True, text=True, check=True
    )
    return set(run.stdout.split())


def test_import_loads_neither_scikit_learn_nor_scipy():
    loaded = modules_after("import maxmargin")
    assert not {"sklearn", "scipy", "scipy.sparse"} & loaded


def test_solving_needs_numpy_only():
    loaded = modules_after(
        "import numpy as np, maxmargin as mm\nmm.solve(mm.BinaryProblem(np.eye(2), np.array([1, -1])))"
    )
    assert not {"sklearn", "scipy"} & loaded


def test_all_names_exist_and_others_do_not():
    for name in maxmargin.__all__:
        assert getattr(maxmargin, name) is not None
        assert name in dir(maxmargin)
    with pytest.raises(AttributeError, match="no attribute 'Unknown'"):
        maxmargin.__getattr__("Unknown")
