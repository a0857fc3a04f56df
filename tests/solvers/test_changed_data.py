"""Data that are changed during a fit: an error or finite numbers, but never a crash, a hang or senseless bounds."""

import subprocess
import sys
import textwrap

import pytest

#: Every solver, loss and storage of one kind of problem, in a process of its own that a crash would end.
PROGRAM = textwrap.dedent(
    """
    import sys

    import numpy as np
    import scipy.sparse as sp

    from maxmargin import BinaryProblem, MulticlassProblem, RankingProblem, solve
    from maxmargin.problems.losses import LOSSES
    from maxmargin.solvers.methods import solvers_for

    kind = sys.argv[1]
    LIMITS = {"tol": 1e-9, "max_iter": 100, "time_limit": 0.3, "report_passes": 1.0}


    def problems(X):
        labels = np.random.default_rng(1).integers(0, 3, len(y))
        if kind == "ranking":
            yield RankingProblem(X, labels, 1e3)
        elif kind == "binary":
            for loss in LOSSES:
                for penalize in (True, False):
                    yield BinaryProblem(X, y, 1e3, loss=loss, bias=1.0, penalize_bias=penalize)
        else:
            yield MulticlassProblem(X, labels, 10.0, formulation=kind, bias=1.0)


    class Spoiler:
        # Changes the data in the second report, or in the first one of a fit that might have no other.
        def __init__(self, values, value, first):
            self.values, self.value, self.reports, self.first = values, value, 0, first

        def __call__(self, report, weights):
            self.reports += 1
            if self.reports == (1 if self.first else 2):
                self.values[...] = self.value


    rng = np.random.default_rng(0)
    clean = rng.normal(size=(80, 6))
    y = np.where(clean @ rng.normal(size=6) + rng.normal(size=80) > 0, 1, -1)
    fits = changed = 0
    for value in (np.nan, np.inf, 0.0, 1e300):
        for form in ("dense", "float32", "csr"):
            if form == "csr":
                X = sp.csr_array(clean)
                values = X.data
            else:
                X = values = clean.astype(np.float64 if form == "dense" else np.float32)
            original = values.copy()
            with np.errstate(over="ignore"):
                written = values.dtype.type(value)
            for problem in problems(X):
                loss, penalize = getattr(problem, "loss", None), getattr(problem, "penalize_bias", True)
                for solver in solvers_for(kind, loss, penalize):
                    for first in (False, True):
                        values[...] = original
                        what = (form, value, solver, first, getattr(loss, "name", ""), penalize)
                        print(what, file=sys.stderr)
                        spoiler = Spoiler(values, written, first)
                        try:
                            solution = solve(problem, solver, callback=spoiler, **LIMITS)
                        except ValueError as error:
                            assert "X was changed" in str(error), (what, str(error))
                        else:
                            assert np.all(np.isfinite(solution.weights)), what
                            assert np.all(np.isfinite(solution.certificate)), what
                            alpha = getattr(solution.alpha, "data", solution.alpha)
                            assert np.all(np.isfinite(np.asarray(alpha))), what
                        fits += 1
                        changed += spoiler.reports >= (1 if first else 2)
    assert changed > 0.9 * fits, (changed, fits)
    print("done", fits)
    """
)


@pytest.mark.parametrize("kind", ["binary", "crammer_singer", "weston_watkins", "ranking"])
def test_data_changed_by_a_callback_end_in_an_error_or_in_finite_numbers(kind):
    done = subprocess.run([sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("done")
