"""What the estimators that choose their C have in common: folds, scorers, results as scikit-learn's searches have them.

`SearchesC` knows nothing of classes or ranks. An estimator makes a task (``maxmargin.training.tasks``) and the folds,
calls ``_search``, and trains with the C it gets.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.ma import MaskedArray
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.metrics import check_scoring
from sklearn.metrics._scorer import _BaseScorer
from sklearn.utils._param_validation import Interval, StrOptions

from maxmargin.problems.losses import Floats
from maxmargin.training.cross_validation import RULES, CrossValidation, Held

#: The grid of a number of values.
SMALLEST_C, LARGEST_C = 1e-3, 1e3


class SearchesC:
    """Mixin of estimators with ``Cs``, ``cv``, ``scoring``, ``rule`` and ``refit``."""

    search_constraints: ClassVar[dict[str, list[Any]]] = {
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [None, str, callable],
        "rule": [StrOptions(set(RULES))],
        "refit": ["boolean"],
    }

    Cs: Any
    cv: Any
    scoring: Any
    rule: str
    refit: bool
    tol: Any
    verbose: int

    C_: float
    Cs_: Floats
    scores_: Floats
    best_score_: float
    best_index_: int
    best_params_: dict[str, float]
    cv_results_: dict[str, Any]
    n_splits_: int

    def _grid(self) -> Floats:
        """The values of C to try."""
        if isinstance(self.Cs, Integral):
            return np.logspace(np.log10(SMALLEST_C), np.log10(LARGEST_C), int(self.Cs))
        values = np.asarray(self.Cs, dtype=np.float64)
        if values.ndim != 1 or len(values) == 0 or not np.all(np.isfinite(values)) or values.min() <= 0:
            raise ValueError(f"Cs must be a number of values or hold positive finite numbers, not {self.Cs!r}")
        return np.unique(values)

    def _take(self, result: CrossValidation, best: int | None = None) -> None:
        """The attributes of a search."""
        best = result.best(self.rule) if best is None else best
        self.Cs_ = result.Cs
        self.scores_ = result.scores.T
        self.best_index_ = best
        self.C_ = float(result.Cs[best])
        self.best_score_ = float(result.means[best])
        self.best_params_ = {"C": self.C_}
        self.n_splits_ = result.scores.shape[1]
        self.cv_results_ = results_table(result)
        note = result.note(best)
        if note is not None and self.rule == "best":
            warnings.warn(note, UserWarning, stacklevel=5)

    def _warn_about_folds(self, result: CrossValidation) -> None:
        if not result.converged.all() and self.tol != "auto":
            short = int((~result.converged).sum())
            warnings.warn(
                f"{short} of {result.converged.size} fits of folds ended before tol={self.tol}, with gaps up to "
                f"{np.nanmax(result.gaps):.1e}; raise max_iter or time_limit, scale the columns, or leave out large C",
                UserWarning,
                stacklevel=5,
            )


def results_table(result: CrossValidation) -> dict[str, Any]:
    """``cv_results_`` as scikit-learn's searches have it, with the certified gaps beside the times."""
    means = result.means
    table: dict[str, Any] = {
        "mean_fit_time": result.fit_seconds.mean(axis=1),
        "std_fit_time": result.fit_seconds.std(axis=1),
        "mean_score_time": result.score_seconds.mean(axis=1),
        "std_score_time": result.score_seconds.std(axis=1),
        "param_C": MaskedArray(result.Cs, mask=np.zeros(len(result.Cs), dtype=bool)),
        "params": [{"C": float(C)} for C in result.Cs],
        "max_gap": result.gaps.max(axis=1),
    }
    for fold in range(result.scores.shape[1]):
        table[f"split{fold}_test_score"] = result.scores[:, fold]
    table["mean_test_score"] = means
    table["std_test_score"] = result.deviations
    known = np.where(np.isnan(means), -np.inf, means)
    table["rank_test_score"] = rankdata(-known.round(12), method="min").astype(np.int32)
    return table


class Scored(BaseEstimator):
    """Scores that are known already, as an estimator that scikit-learn's scorers can ask for them.

    Parameters
    ----------
    scores : ndarray of shape (rows, columns)
        The scores of the rows that the scorer is called with.
    predictions : ndarray of shape (rows,)
        What is predicted for them.
    classes : ndarray or None
        The labels of a classifier.
    """

    def __init__(self, scores: Floats, predictions: NDArray[Any], classes: NDArray[Any] | None) -> None:
        self.scores, self.predictions, self.classes = scores, predictions, classes
        if classes is not None:
            self.classes_ = classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.classes is None else "classifier"
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, X: Any) -> Floats:  # noqa: ARG002
        """The scores."""
        return self.scores.ravel() if self.scores.shape[1] == 1 else self.scores

    def predict(self, X: Any) -> Any:  # noqa: ARG002
        """The predictions."""
        return self.predictions


class Steps:
    """Tells scikit-learn's callbacks and the terminal of each C and fold."""

    def __init__(self, estimator: Any, count: int, X: Any, y: Any) -> None:
        self.estimator, self.count, self.done = estimator, count, 0
        self.lock = threading.Lock()
        self.context = estimator._init_callback_context(max_subtasks=count, sequential_subtasks=False)
        self.data = {"estimator": estimator, "X": X, "y": y, "metadata": {}}
        self.context.call_on_fit_task_begin(**self.data)
        self.heard = hasattr(estimator, "_skl_callbacks")

    def __call__(self, held: Held, score: float) -> None:
        """One of them is done."""
        with self.lock:
            self.done += 1
            if self.estimator.verbose:
                print(f"fold {held.fold}  C {held.solved.C:<10.4g}  score {score:.4f}  gap {held.solved.gap:.1e}")
            if self.heard and self.done <= self.count:
                step = self.context.subcontext(task_name="C and fold", task_id=self.done - 1)
                step.call_on_fit_task_begin(**self.data)
                step.call_on_fit_task_end(**self.data)


def scorer_of(
    scoring: Any,
    estimator: BaseEstimator,
    X: Any,
    y: NDArray[Any],
    predict: Callable[[Floats], NDArray[Any]],
    model_of: Callable[[Held], BaseEstimator],
) -> Callable[[Held], float] | None:
    """What ``cross_validate`` calls for a scorer of scikit-learn; None for the estimator's own score.

    A scorer by name or from ``make_scorer`` gets the scores that are known already. A function of the user's gets a
    fitted model and the rows that were left out, which are copied for as long as it runs.
    """
    if scoring is None:
        return None
    scorer = check_scoring(estimator, scoring)

    def known(held: Held) -> float:
        classes = getattr(model_of(held), "classes_", None)
        scored = Scored(held.scores, predict(held.scores), classes)
        return float(scorer(scored, np.empty((len(held.rows), 0)), y[held.rows]))

    def fitted(held: Held) -> float:
        return float(scorer(model_of(held), X[held.rows], y[held.rows]))

    if not isinstance(scorer, _BaseScorer):
        return fitted
    if scorer._response_method == "predict_proba":
        raise ValueError(
            f"scoring={scoring!r} needs probabilities, which are fitted after C is chosen; choose by scores"
        )
    return known
