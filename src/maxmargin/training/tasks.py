"""What is learned from rows, whatever C is: the classes or the ranks, the loss, and how much each row counts.

A task makes the problems of one C and solves them. Paths, cross-validation and certified choices of C go through it, so
that they do not know whether they classify or rank. The same task over fewer rows has weight zero for the others and
shares the matrix, its norms and its packed copy: nothing is copied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin.models.model import best_index, weight_rows
from maxmargin.problems.binary import BinaryProblem
from maxmargin.problems.losses import Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.problems.ranking import RankingProblem, count_pairs
from maxmargin.problems.regression import RegressionProblem, regression_loss
from maxmargin.solvers.method import Method
from maxmargin.solvers.methods import method_of
from maxmargin.solvers.solution import Solution
from maxmargin.solvers.solve import solve
from maxmargin.training.classification import choose_method, make_problem, problems_of, train_classifier
from maxmargin.training.first_C import ANY_C, first_C
from maxmargin.training.weights import row_weights


class Solved(NamedTuple):
    """The problems of one C, and their solutions."""

    C: float
    problems: list[Any]
    solutions: list[Solution]

    @property
    def gap(self) -> float:
        """The largest certified gap."""
        return max((solution.certificate.gap for solution in self.solutions), default=0.0)

    @property
    def converged(self) -> bool:
        """Whether every gap is at most the tolerance."""
        return all(solution.converged for solution in self.solutions)


class Task(Protocol):
    """What paths and cross-validation ask of a task."""

    @property
    def matrix(self) -> Matrix:
        """The rows, those left out included."""

    @property
    def columns(self) -> int:
        """How many scores a row has."""

    def on(self, rows: Floats) -> Task:
        """The same task over some rows: ``rows`` says how often each of them counts, 0 for those left out."""

    def method(self, solver: str | Method) -> Method:
        """The method that a name stands for; an error that says what works if it does not."""

    def solve(self, C: float, solver: Method, starts: Sequence[Any] | None, **options: Any) -> Solved:
        """The problems of one C, solved from what is known of their solutions."""

    def first_C(self, tol: float) -> float:
        """The C up to which the model is known in closed form, for curved losses within a tolerance."""

    def coefficients(self, solved: Solved) -> tuple[Floats, Floats]:
        """Weights and intercepts, one row for each column of the scores."""

    def scores(self, solved: Solved, rows: NDArray[np.intp] | None = None) -> Floats:
        """Scores of rows of the matrix, by default of all, those left out included; one column or one per class."""

    def score(self, scores: Floats, rows: NDArray[np.intp]) -> float:
        """How good the scores of some rows are; larger is better."""

    def right(self, scores: Floats, rows: NDArray[np.intp]) -> float:
        """How many of some rows are labelled as they should be; NaN for tasks without labels."""


class Classification:
    """Classes, by one problem for each or by one over all of them.

    Parameters
    ----------
    X : Matrix, ndarray or CSR matrix of shape (rows, features)
        Used where it lies.
    labels : array of shape (rows,)
        Which class each row has, from 0 to ``n_classes - 1``.
    n_classes : int
        At least 2.
    multi_class, loss, bias, penalize_bias, penalty
        As in ``train_classifier``.
    weights : array of shape (rows,), optional
        How much each row counts beside C.
    class_weight : dict or "balanced", optional
        Weight of each class by its label in ``classes``, or by its number. "balanced" is computed for the rows that
        take part.
    classes : array, optional
        The labels of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.training.tasks import Classification
    >>> task = Classification(np.array([[1.0], [-1.0]]), np.array([1, 0]), 2, bias=0.0)
    >>> solved = task.solve(1.0, task.method("auto"), None)
    >>> task.scores(solved).ravel() > 0
    array([ True, False])
    """

    def __init__(
        self,
        X: Any,
        labels: NDArray[np.intp],
        n_classes: int,
        *,
        multi_class: str = "ovr",
        loss: str = "squared_hinge",
        bias: float = 1.0,
        penalize_bias: bool = True,
        penalty: str = "l2",
        weights: Floats | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        classes: NDArray[Any] | None = None,
    ) -> None:
        self.matrix = Matrix.of(X)
        self.labels, self.n_classes = labels, n_classes
        self.multi_class, self.loss, self.bias, self.penalize_bias = multi_class, loss, bias, penalize_bias
        self.penalty, self.weights, self.class_weight = penalty, weights, class_weight
        self.classes = np.arange(n_classes) if classes is None else classes
        self._unit = row_weights(1.0, class_weight, self.classes, labels, weights)
        self._last: tuple[float, BinaryProblem] | None = None  # the problem that was made last, and its C
        # A class without rows, as in a fold that misses a rare one, is no part of the training.
        present = np.bincount(labels, weights=weights, minlength=n_classes) > 0
        self.present = np.flatnonzero(present)
        self._labels = labels if present.all() else np.maximum(np.cumsum(present) - 1, 0)[labels]

    @property
    def columns(self) -> int:
        """One for two classes, else one per class."""
        return 1 if self.n_classes == 2 else self.n_classes

    def on(self, rows: Floats) -> Classification:
        """The same over some rows."""
        return Classification(
            self.matrix,
            self.labels,
            self.n_classes,
            multi_class=self.multi_class,
            loss=self.loss,
            bias=self.bias,
            penalize_bias=self.penalize_bias,
            penalty=self.penalty,
            weights=rows if self.weights is None else rows * self.weights,
            class_weight=self.class_weight,
            classes=self.classes,
        )

    def method(self, solver: str | Method) -> Method:
        """The method for such problems."""
        return choose_method(
            solver, self.multi_class, self.loss, penalize_bias=self.penalize_bias, penalty=self.penalty
        )

    def binary_problem(self, C: float) -> BinaryProblem | None:
        """The one problem of two classes; None where there are several or none."""
        if self.multi_class != "ovr" or self.n_classes != 2 or len(self.present) != 2:
            return None
        last = self._last  # another thread may replace it
        if last is not None and last[0] == C:
            return last[1]
        problem: BinaryProblem = make_problem(
            self.matrix,
            self._labels,
            2,
            1,
            C * self._unit,
            multi_class=self.multi_class,
            loss=self.loss,
            bias=self.bias,
            penalize_bias=self.penalize_bias,
            penalty=self.penalty,
        )
        self._last = C, problem
        return problem

    def solve(self, C: float, solver: Method, starts: Sequence[Any] | None, **options: Any) -> Solved:
        """One class against each other, or all at once."""
        if len(self.present) == 1:
            return Solved(C, [], [])
        problems, solutions = train_classifier(
            self.matrix,
            self._labels,
            len(self.present),
            C * self._unit,
            multi_class=self.multi_class,
            loss=self.loss,
            bias=self.bias,
            penalize_bias=self.penalize_bias,
            penalty=self.penalty,
            solver=solver,
            starts=starts,
            **options,
        )
        return Solved(C, problems, solutions)

    def first_C(self, tol: float) -> float:
        """The smallest of those of all problems."""
        if len(self.present) == 1:
            return ANY_C
        return min(
            first_C(
                make_problem(
                    self.matrix,
                    self._labels,
                    len(self.present),
                    positive,
                    self._unit,
                    multi_class=self.multi_class,
                    loss=self.loss,
                    bias=self.bias,
                    penalize_bias=self.penalize_bias,
                    penalty=self.penalty,
                ),
                tol,
            )
            for positive in problems_of(self.multi_class, len(self.present))
        )

    def coefficients(self, solved: Solved) -> tuple[Floats, Floats]:
        """Weights and intercepts of the classes that are present."""
        weights = weight_rows([solution.weights for solution in solved.solutions])
        return weights[:, :-1], self.bias * weights[:, -1]

    def scores(self, solved: Solved, rows: NDArray[np.intp] | None = None) -> Floats:
        """One column for two classes, else one per class: ``-inf`` for those without training rows."""
        size = self.matrix.shape[0] if rows is None else len(rows)
        if len(self.present) == 1:
            if self.n_classes == 2:
                return np.full((size, 1), 1.0 if self.present[0] == 1 else -1.0)
            columns = np.zeros((size, 1))
        else:
            columns = self.matrix.scores(*self.coefficients(solved), rows)
        if len(self.present) == self.n_classes:
            return columns
        scores = np.full((size, self.n_classes), -np.inf)
        scores[:, self.present] = np.hstack([-columns, columns]) if len(self.present) == 2 else columns
        return scores

    def score(self, scores: Floats, rows: NDArray[np.intp]) -> float:
        """The accuracy."""
        return self.right(scores, rows) / len(rows)

    def right(self, scores: Floats, rows: NDArray[np.intp]) -> float:
        """Rows whose own class has the largest score."""
        return float(np.count_nonzero(self.is_right(scores, rows)))

    def is_right(self, scores: Floats, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which they are."""
        return np.asarray(best_index(scores) == self.labels[rows])

    def known_labels(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The classes of rows, as numbers of those that take part in the training; -1 for the others."""
        number = np.full(self.n_classes, -1)
        number[self.present] = np.arange(len(self.present))
        return np.asarray(number[self.labels[rows]])


@dataclass(frozen=True)
class Ranking:
    """Ranks of rows, within groups if there are any.

    Parameters
    ----------
    matrix : Matrix
        The rows.
    y : array of shape (rows,)
        Numbers: a larger one means a higher rank.
    qid : array of shape (rows,), optional
        The group of each row.
    weights : array of shape (rows,), optional
        A pair counts by the product of its rows' weights.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Matrix
    >>> from maxmargin.training.tasks import Ranking
    >>> task = Ranking(Matrix(np.array([[1.0], [3.0], [2.0]])), np.array([1, 3, 2]))
    >>> solved = task.solve(1.0, task.method("auto"), None)
    >>> task.score(task.scores(solved), np.arange(3))
    1.0
    """

    matrix: Matrix
    y: ArrayLike
    qid: ArrayLike | None = None
    weights: Floats | None = None

    @property
    def columns(self) -> int:
        """One."""
        return 1

    def on(self, rows: Floats) -> Ranking:
        """The same over some rows."""
        return Ranking(self.matrix, self.y, self.qid, rows if self.weights is None else rows * self.weights)

    def method(self, solver: str | Method) -> Method:
        """The method for rankings."""
        return method_of(solver, "ranking")

    def solve(self, C: float, solver: Method, starts: Sequence[Any] | None, **options: Any) -> Solved:
        """One problem; its pairs are those of the C before, if there was one."""
        problem = RankingProblem(self.matrix, self.y, C, qid=self.qid, weights=self.weights)
        return Solved(C, [problem], [solve(problem, solver, start=starts[0] if starts else None, **options)])

    def first_C(self, tol: float) -> float:
        """That of the pairs."""
        return first_C(RankingProblem(self.matrix, self.y, 1.0, qid=self.qid, weights=self.weights), tol)

    def coefficients(self, solved: Solved) -> tuple[Floats, Floats]:
        """One row of weights, and zero."""
        return solved.solutions[0].weights[np.newaxis, :-1], np.zeros(1)

    def scores(self, solved: Solved, rows: NDArray[np.intp] | None = None) -> Floats:
        """One column."""
        scores: Floats = self.matrix.scores(*self.coefficients(solved), rows)
        return scores

    def score(self, scores: Floats, rows: NDArray[np.intp]) -> float:
        """Share of the pairs in the right order, ties as half."""
        qid = None if self.qid is None else np.asarray(self.qid)[rows]
        return count_pairs(np.asarray(self.y)[rows], scores.ravel(), qid).share_in_order

    def right(self, scores: Floats, rows: NDArray[np.intp]) -> float:  # noqa: ARG002
        """Ranks are no labels."""
        return float("nan")


@dataclass(frozen=True)
class Regression:
    """Numbers to predict.

    Parameters
    ----------
    matrix : Matrix
        The rows.
    y : array of shape (rows,)
        The numbers.
    loss, epsilon, bias, penalize_bias
        As in ``RegressionProblem``.
    weights : array of shape (rows,), optional
        How much each row counts beside C.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import Matrix
    >>> from maxmargin.training.tasks import Regression
    >>> task = Regression(Matrix(np.array([[1.0], [3.0], [2.0]])), np.array([2.0, 6.0, 4.0]))
    >>> solved = task.solve(100.0, task.method("auto"), None)
    >>> task.score(task.scores(solved), np.arange(3)) > 0.99
    True
    """

    matrix: Matrix
    y: Floats
    loss: str = "epsilon_insensitive"
    epsilon: float = 0.0
    bias: float = 1.0
    penalize_bias: bool = True
    weights: Floats | None = None

    @property
    def columns(self) -> int:
        """One."""
        return 1

    def on(self, rows: Floats) -> Regression:
        """The same over some rows."""
        return replace(self, weights=rows if self.weights is None else rows * self.weights)

    def method(self, solver: str | Method) -> Method:
        """The method for such problems."""
        return method_of(solver, "regression", regression_loss(self.loss, self.epsilon), self.penalize_bias)

    def solve(self, C: float, solver: Method, starts: Sequence[Any] | None, **options: Any) -> Solved:
        """One problem."""
        problem = self._problem(C)
        return Solved(C, [problem], [solve(problem, solver, start=starts[0] if starts else None, **options)])

    def _problem(self, C: float) -> RegressionProblem:
        return RegressionProblem(
            self.matrix,
            self.y,
            C if self.weights is None else C * self.weights,
            loss=self.loss,
            epsilon=self.epsilon,
            bias=self.bias,
            penalize_bias=self.penalize_bias,
        )

    def first_C(self, tol: float) -> float:
        """That of the residuals at weights of zero."""
        return first_C(self._problem(1.0), tol)

    def coefficients(self, solved: Solved) -> tuple[Floats, Floats]:
        """One row of weights, and the intercept."""
        weights = solved.solutions[0].weights
        return weights[np.newaxis, :-1], self.bias * weights[-1:]

    def scores(self, solved: Solved, rows: NDArray[np.intp] | None = None) -> Floats:
        """One column: the predictions."""
        scores: Floats = self.matrix.scores(*self.coefficients(solved), rows)
        return scores

    def score(self, scores: Floats, rows: NDArray[np.intp]) -> float:
        """R2, the share of the squared deviation from the mean that is predicted; as scikit-learn's ``r2_score``."""
        y = np.asarray(self.y, dtype=np.float64)[rows]
        left, total = float(np.sum((y - scores.ravel()) ** 2)), float(np.sum((y - y.mean()) ** 2))
        if total > 0.0:
            return 1.0 - left / total
        return 1.0 if left == 0.0 else 0.0

    def right(self, scores: Floats, rows: NDArray[np.intp]) -> float:  # noqa: ARG002
        """Numbers are no labels."""
        return float("nan")
