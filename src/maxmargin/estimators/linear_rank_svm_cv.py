"""The linear ranking support vector machine that chooses its own C."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions

from maxmargin.estimators.linear_rank_svm import LinearRankSVM, checked_ranks
from maxmargin.estimators.searching import SearchesC, Steps
from maxmargin.models.model import Model
from maxmargin.problems.matrix import Matrix
from maxmargin.problems.ranking import ndcg
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.threads import count_threads
from maxmargin.training.cross_validation import (
    Held,
    check_count,
    cross_validate,
    fold_numbers,
    folds_of,
    group_fold_numbers,
)
from maxmargin.training.folds import Fold
from maxmargin.training.streaming import must_load
from maxmargin.training.tasks import Ranking

#: The number of folds by default.
FOLDS = 5


class LinearRankSVMCV(SearchesC, LinearRankSVM):
    """Linear ranking by pairs that chooses C by cross-validation.

    Folds are whole groups (queries) where there are any. All of them are trained on one matrix, from which rows are
    left out by weight zero; each C is seeded by the cuts of the one before.

    Parameters
    ----------
    Cs : int or array, default=13
        Values of C to try; a number means that many between 1e-3 and 1e3, evenly on a logarithmic scale.
    cv : int, splitter or iterable, default=None
        The folds. A number (None: 5) of random folds of about equal size: of whole groups with ``qid``, else each with
        its share of every rank. A splitter of scikit-learn gets ``qid`` as groups.
    scoring : "ndcg" or callable, default=None
        What is to be highest: None is the share of pairs in the right order, "ndcg" the mean normalised discounted
        cumulative gain of the groups; a function is called as ``scoring(y, scores, qid)`` with the rows left out.
    rule : {"best", "one_standard_error"}, default="best"
        Which C to take: that of the highest mean score (the smallest among equal ones), or the smallest whose mean is
        within one standard error of that.
    refit : bool, default=True
        Whether to train on all rows with the chosen C; without it there is no model to predict with.
    tol, max_iter, solver, time_limit, verbose
        As in `LinearRankSVM`; the time limit is for everything.
    n_jobs : int, default=None
        Threads over folds; the result does not depend on it.

    Attributes
    ----------
    C_, Cs_, scores_, best_score_, best_index_, best_params_, cv_results_, n_splits_
        The search, as in `LinearSVCCV`.
    coef_, intercept_, duality_gap_, ...
        As in `LinearRankSVM`, of the model trained on all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearRankSVMCV
    >>> rng = np.random.default_rng(0)
    >>> X, query = rng.normal(size=(200, 3)), np.arange(200) // 10
    >>> relevance = np.digitize(X[:, 0] + 0.3 * rng.normal(size=200), [-0.5, 0.5])
    >>> model = LinearRankSVMCV(Cs=[0.01, 1.0], rule="one_standard_error").fit(X, relevance, qid=query)
    >>> model.scores_.shape, model.best_score_ > 0.9
    ((5, 2), True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: constraint
            for name, constraint in LinearRankSVM._parameter_constraints.items()
            if name not in ("C", "warm_start")
        },
        **SearchesC.search_constraints,
        "scoring": [None, StrOptions({"ndcg"}), callable],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        *,
        Cs: int | ArrayLike = 13,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        refit: bool = True,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        solver: str | Method = "auto",
        n_jobs: int | None = None,
        time_limit: float | None = None,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    def _score_of(self, y: NDArray[Any], groups: NDArray[Any] | None) -> Any:
        if self.scoring is None:
            return None
        measure = ndcg if self.scoring == "ndcg" else self.scoring

        def score(held: Held) -> float:
            qid = None if groups is None else groups[held.rows]
            return float(measure(y[held.rows], held.scores.ravel(), qid))

        return score

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> LinearRankSVMCV:
        """Choose C by cross-validation, then train on all rows.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            Numbers: a larger one means a higher rank.
        qid : array of shape (n_samples,), default=None
            The group (query) of each row; only rows of one group form pairs. None is one group.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row in training; scores of rows left out are not weighted.

        Returns
        -------
        LinearRankSVMCV
            The estimator itself.
        """
        deadline = Deadline(self.time_limit)
        X, y, sample_weight, qid = must_load("LinearRankSVMCV", X, y, sample_weight, qid)
        X, y, weight = checked_ranks(self, X, y, qid, sample_weight)
        groups = None if qid is None else np.asarray(qid)
        task = Ranking(Matrix(X), y, groups, weight)
        folds = self._folds(X, y, groups)
        Cs = self._grid()
        left = deadline.left()
        result = cross_validate(
            task,
            Cs.tolist(),
            folds,
            score=self._score_of(y, groups),
            on_step=Steps(self, len(Cs) * len(folds), X, y),
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            n_jobs=count_threads(self.n_jobs),
            time_limit=None if left is None else 0.8 * left,
        )
        self._take(result)
        self._warn_about_folds(result)
        if self.refit:
            solved = task.solve(
                self.C_,
                task.method(self.solver),
                None,
                tol=self.tol,
                max_iter=self.max_iter,
                time_limit=deadline.left(),
            )
            model = Model.of_ranking(solved.problems[0], solved.solutions[0], self._plain_parameters())
            self._set(model)
            self._warn_unless_converged(model.training, X)
        self._callback_fit_ctx.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _folds(self, X: Any, y: NDArray[Any], groups: NDArray[Any] | None) -> list[Fold]:
        """Whole groups, or shares of every rank."""
        if self.cv is not None and not isinstance(self.cv, Integral):
            return list(check_cv(self.cv, y).split(X, y, groups))
        count = check_count(int(self.cv or FOLDS), len(y))
        if groups is not None:
            return folds_of(group_fold_numbers(groups, count, seed=0))
        ranks = np.unique(y, return_inverse=True)[1]
        return folds_of(fold_numbers(ranks, count, seed=0))

    def _plain_parameters(self) -> dict[str, Any]:
        """Those of the `LinearRankSVM` that the final model is."""
        own = self.get_params(deep=False)
        plain = {name: own[name] for name in LinearRankSVM().get_params(deep=False) if name in own}
        return {**plain, "C": self.C_, "warm_start": False}

    def _to_model(self) -> Model:
        """A model file holds the `LinearRankSVM` that was chosen."""
        return super()._to_model_as("LinearRankSVM", self._plain_parameters())
