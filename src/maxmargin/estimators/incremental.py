"""Learning and forgetting rows: ``partial_fit`` and ``forget`` of a classifier."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from maxmargin.models.model import Training
from maxmargin.solvers.deadline import Deadline
from maxmargin.training.classification import train_classifier
from maxmargin.training.incremental import SeenRows, extended
from maxmargin.training.streaming import must_load


def _has_one_C(estimator: Any) -> bool:
    """A search over C has other rows in each fold; only an estimator with a C of its own can grow."""
    return hasattr(estimator, "C")


class IncrementalMixin:
    """Methods of a classifier that add rows to its problem and take some away.

    After each call the model is that of all rows it knows, to the same certified ``tol`` as by ``fit``; the dual
    variables of earlier rows are where the solver starts. The estimator keeps a copy of the rows.
    """

    _seen: SeenRows | None
    # Of the estimator that has these methods.
    time_limit: float | None
    classes_: NDArray[Any]
    dual_coef_: Any
    _method: Any
    _asked_for: Any
    _take_solved: Any
    _starts_of: Any
    _warn_unless_converged: Any

    @available_if(_has_one_C)
    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows to the problem and solve it again, from the dual variables of the earlier ones.

        The result is the model of all rows that were added so far, certified to ``tol`` like that of ``fit``. The
        estimator keeps a copy of these rows; model files do not.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            More rows.
        y : array of shape (n_samples,)
            Their labels.
        classes : array of shape (n_classes,), default=None
            All labels there will ever be; needed in the first call, and the same or None in later ones.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each of these rows.

        Returns
        -------
        LinearSVC
            The estimator itself.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from maxmargin import LinearSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> model = LinearSVC().partial_fit(X[::2], y[::2], classes=[0, 1, 2])
        >>> model.partial_fit(X[1::2], y[1::2]).dual_coef_.shape
        (3, 150)
        >>> model.forget(range(75)).dual_coef_.shape
        (3, 75)
        """
        deadline = Deadline(self.time_limit)
        seen: SeenRows | None = getattr(self, "_seen", None)
        if seen is None and hasattr(self, "coef_"):
            # The level is that of the user's line: past this method and its decorators.
            warnings.warn(
                "this model comes from fit or from a file, which keep no rows, so partial_fit begins a new problem "
                "with these rows alone; to add rows to others, hand these over by partial_fit too",
                stacklevel=4,
            )
        X, y, sample_weight, _ = must_load("partial_fit", X, y, sample_weight)
        known = _all_classes(classes, getattr(self, "classes_", None) if seen is not None or classes is None else None)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], order="C", reset=seen is None
        )
        labels = _numbers(y, known)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if seen is None:
            more, start = SeenRows.of(X, labels, weight), None
        else:
            more = seen.with_rows(X, labels, weight)
            start = extended(self.dual_coef_, len(more.labels))
        self._warn_unless_converged(self._solve_seen(more, known, start, deadline), more.X)
        return self

    @available_if(_has_one_C)
    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def forget(self, rows: ArrayLike) -> Self:
        """Take rows out of the problem and solve it again, from the dual variables of the others.

        The result is the model of the rows that are left, certified to ``tol``, as if the others had never been there.

        Parameters
        ----------
        rows : array of int, or of bool
            Numbers of rows in the order in which they were added, without those that were forgotten before (the columns
            of ``dual_coef_``), or a mask over them.

        Returns
        -------
        LinearSVC
            The estimator itself.
        """
        check_is_fitted(self)
        deadline = Deadline(self.time_limit)
        seen: SeenRows | None = getattr(self, "_seen", None)
        if seen is None:
            raise ValueError(
                "forget needs the rows of partial_fit; this model comes from fit or from a file, which keep none"
            )
        kept = seen.kept(list(rows) if isinstance(rows, range) else rows)
        if not kept.any():
            raise ValueError("forget would leave no row; to begin anew, use a new estimator")
        left = seen.without(~kept)
        training = self._solve_seen(left, self.classes_, self.dual_coef_[:, kept], deadline)
        self._warn_unless_converged(training, left.X)
        return self

    def _solve_seen(self, seen: SeenRows, classes: NDArray[Any], dual_coef: Any, deadline: Deadline) -> Training | None:
        """Solve the problem of these rows from what is known of their variables."""
        y = classes[seen.labels]
        asked = self._asked_for(
            seen.X,
            y,
            classes,
            seen.labels,
            seen.weight,
            method=self._method(),
            deadline=deadline,
            starts=None if dual_coef is None else self._starts_of(dual_coef),
        )
        training: Training | None = self._take_solved(train_classifier(**asked), seen.X, y, classes, seen.labels)
        self._seen = seen
        return training


def _all_classes(classes: ArrayLike | None, known: NDArray[Any] | None) -> NDArray[Any]:
    """The classes that the first call names; later calls may repeat them."""
    if classes is None:
        if known is None:
            raise ValueError(
                "classes must be passed on the first call to partial_fit: all labels there will ever be, such as "
                "classes=numpy.unique(y)"
            )
        return known
    named = np.unique(np.asarray(classes))
    if known is not None and not np.array_equal(named, known):
        raise ValueError(
            f"classes={named.tolist()} is not the same as on the first call to partial_fit, {known.tolist()}; leave it "
            "out, or begin anew with all classes"
        )
    if len(named) < 2:
        raise ValueError(f"classes={named.tolist()} holds {len(named)} label; a classifier needs at least two classes")
    return named


def _numbers(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """The number of the class of each label."""
    labels, table = _plain(y), _plain(classes)
    # numpy would take the number 1 and the text "1" for equal
    alike = (labels.dtype.kind in "US") == (table.dtype.kind in "US")
    strange = ~np.isin(labels, table) if alike else np.ones(len(labels), dtype=bool)
    if strange.any():
        raise ValueError(
            f"y holds {labels[strange][0].item()!r}, which is not among the classes {classes.tolist()} that the first "
            "call of partial_fit named; name all classes there: partial_fit(X, y, classes=[...])"
        )
    return np.searchsorted(table, labels)


def _plain(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels as numbers or texts, where they are objects."""
    return np.array(labels.tolist()) if labels.dtype == object else labels
