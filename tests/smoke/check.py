"""An installed wheel works: train, certify, save, load, predict, and the command. ``make wheel`` runs it.

It must be run from outside of the source tree, so that what is imported is what was installed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import maxmargin
from maxmargin import LinearRankSVM, LinearSVC, LinearSVR, load_model, save_model, save_svmlight


def main() -> None:
    """Try each layer once."""
    home = Path(maxmargin.__file__).resolve()
    assert "site-packages" in home.parts, f"this is no installed package: {home}"
    X, y = load_digits(return_X_y=True)
    X = X / 16
    for options in ({"loss": "hinge"}, {"loss": "squared_hinge"}, {"multi_class": "crammer_singer", "C": 0.1}):
        model = LinearSVC(tol=1e-3, **options).fit(X, y)
        assert np.all(np.asarray(model.duality_gap_) <= 1e-3)
        assert model.score(X, y) > 0.95
    LinearSVR().fit(X, y.astype(float))
    assert LinearRankSVM(C=10.0).fit(X[:200], y[:200]).score(X[:200], y[:200]) > 0.8
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, f"{folder}/digits.mm")
        assert np.array_equal(load_model(f"{folder}/digits.mm").predict(X), model.predict(X))
        save_svmlight(X, y, f"{folder}/digits.svm")
        command = Path(sys.executable).with_name("maxmargin")
        for line in ("train digits.svm cli.mm -C 0.1", "predict digits.svm cli.mm", "info cli.mm"):
            subprocess.run([command, *line.split()], cwd=folder, check=True, capture_output=True)
    system = f"Python {sys.version.split()[0]}"
    if hasattr(sys, "_is_gil_enabled"):
        system += f", lock {'on' if sys._is_gil_enabled() else 'off'}"
    core = Path(maxmargin._core.__file__).name
    print(f"maxmargin {maxmargin.__version__} works on {system}: {core}")


if __name__ == "__main__":
    main()
