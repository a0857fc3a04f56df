"""A trained model as plain arrays: what model files hold, and all the command line needs.

scikit-learn's estimators are built from it and turned into it; both score and label rows by the functions here, so
that the same model gives the same bits everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.models.calibration import Calibration
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.problems.multiclass import MulticlassProblem, second_minus_first
from maxmargin.problems.one_class import OneClassProblem
from maxmargin.problems.ranking import RankingProblem
from maxmargin.problems.regression import RegressionProblem
from maxmargin.solvers.solution import Report, Solution

#: The classes of a model that ranks or predicts numbers.
NO_CLASSES: NDArray[Any] = np.zeros(0)
#: The classes of a one-class model: outliers, and what is none.
INLIER_OR_NOT: NDArray[Any] = np.array([-1, 1])


def weight_rows(solved: Sequence[Floats]) -> Floats:
    """The weights of a classifier, one row for two classes, else one per class, from those of each problem."""
    weights = np.vstack(solved)
    joint = solved[0].ndim == 2
    return second_minus_first(weights) if joint and len(weights) == 2 else weights


def dual_rows(problems: Sequence[Any], solutions: Sequence[Solution]) -> Csr:
    """The signed dual variables of a classifier, in the same rows as its weights."""
    if not isinstance(problems[0], MulticlassProblem):
        return Csr.of_rows(
            [problem.dual_coef(solution.alpha) for problem, solution in zip(problems, solutions, strict=True)]
        )
    dual_coef = problems[0].dual_coef(solutions[0].alpha)
    if problems[0].n_classes > 2:
        return dual_coef
    second = dual_coef.rows(1, 2)  # the first is opposite to it, so that their difference is twice the second
    return second._replace(data=2 * second.data)


def linear_scores(X: Any, coef: Any, intercept: Floats, threads: int = 1) -> Floats:
    """``X @ coef.T + intercept``, one column per row of ``coef``, which may be a `Csr`."""
    scores: Floats
    if isinstance(coef, Csr):
        rows = X.X if isinstance(X, Matrix) else X
        product = (rows.to_scipy() if isinstance(rows, Csr) else rows) @ coef.to_scipy().T
        scores = np.asarray(product.toarray() if hasattr(product, "toarray") else product) + intercept
    else:
        scores = Matrix.of(X).scores(coef, intercept, threads=threads)
    return scores


def best_index(scores: Floats) -> NDArray[np.intp]:
    """The number of the class with the largest score; one score alone means the second where it is positive."""
    single = scores.ndim == 1 or scores.shape[1] == 1
    return (scores.ravel() > 0).astype(np.intp) if single else scores.argmax(axis=1)


def indicator_of_scores(scores: Floats, kind: str) -> Any:
    """Which labels the scores of rows stand for, as a matrix of zeros and ones, "dense" or "sparse"."""
    labels = (scores > 0).astype(np.int64)
    if kind == "dense":
        return labels
    from scipy.sparse import csr_matrix

    return csr_matrix(labels)


def labels_of_scores(scores: Floats, classes: NDArray[Any]) -> NDArray[Any]:
    """The class with the largest score."""
    return np.asarray(classes[best_index(scores)])


class TopFeatures(NamedTuple):
    """Numbers of the features with the largest weights, and with the most negative ones; the extreme ones first."""

    positive: list[int]
    negative: list[int]


def top_features(weights: Floats, count: int) -> TopFeatures:
    """Which features speak most for the class of these weights, and which against it.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.models.model import top_features
    >>> top_features(np.array([0.0, 3.0, -1.0, 2.0, -5.0]), 2)
    TopFeatures(positive=[1, 3], negative=[4, 2])
    """
    order = np.argsort(-weights, kind="stable")
    positive = [j for j in order[:count].tolist() if weights[j] > 0]
    negative = [j for j in order[::-1][:count].tolist() if weights[j] < 0]
    return TopFeatures(positive, negative)


class PairSummary(NamedTuple):
    """Pairs of rows of different rank: all, in the wrong order, with equal scores, and the groups they belong to."""

    all: float
    swapped: float
    tied: float
    groups: int


@dataclass(frozen=True)
class Training:
    """How a model came about. Arrays have one entry per problem: one for each class, or one over all classes.

    Attributes
    ----------
    primal, dual : ndarray
        The certificate: the optimum lies between the two.
    converged : bool
        Whether every gap is at most the tolerance.
    n_iter : int
        Epochs or Newton steps, of the problem that took most.
    solvers : list of str
        The stages each problem went through.
    n_support : ndarray of shape (n_classes,) or (1,)
        Rows with a nonzero dual variable, by class; of a ranker in all.
    history : list of lists of Report
        The exact values along the way.
    exits : list of str
        Why each problem ended, if that is known: keys of ``maxmargin.solvers.solution.EXITS``.
    dual_coef : Csr or None
        Signed dual variables, one row for each row of ``coef``; ``coef`` is near ``dual_coef @ X``.
    pairs : PairSummary or None
        What a ranker makes of its training data.
    """

    primal: Floats
    dual: Floats
    converged: bool
    n_iter: int
    solvers: list[str]
    n_support: NDArray[Any]
    history: list[list[Report]] = field(default_factory=list, repr=False)
    exits: list[str] = field(default_factory=list, repr=False)
    dual_coef: Csr | None = field(default=None, repr=False)
    pairs: PairSummary | None = None

    @classmethod
    def of_one(cls, solution: Solution, dual_coef: Csr, pairs: PairSummary | None = None) -> Training:
        """That of a model of one problem and no classes."""
        return cls(
            primal=np.array([solution.certificate.primal]),
            dual=np.array([solution.certificate.dual]),
            converged=solution.converged,
            n_iter=solution.n_iter,
            solvers=[solution.solver],
            n_support=np.array([len(dual_coef.data)]),
            history=[solution.history],
            exits=[solution.exit],
            dual_coef=dual_coef,
            pairs=pairs,
        )

    def worst(self) -> tuple[str, Certificate]:
        """Why the problem with the largest gap among those that fell short ended, and its certificate."""
        entries = [
            (exit_, Certificate(*pair))
            for exit_, *pair in zip(self.exits, self.primal.tolist(), self.dual.tolist(), strict=True)
        ]
        return max(entries, key=lambda entry: (entry[0] != "converged", entry[1].gap))

    @property
    def gap(self) -> Floats:
        """Relative duality gap of each problem."""
        return np.array([Certificate(*pair).gap for pair in zip(self.primal, self.dual, strict=True)])


@dataclass(frozen=True)
class Model:
    """A trained linear classifier, ranker or regressor.

    Attributes
    ----------
    estimator : str
        Name of the estimator it belongs to.
    parameters : dict
        The estimator's parameters.
    classes : ndarray of shape (n_classes,)
        The labels; none for a model that ranks or predicts numbers.
    coef : ndarray, or Csr, of shape (1, n_features) or (n_classes, n_features)
        Weights; sparse only for many labels.
    intercept : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    training : Training or None
        How it was trained; None for models of other programs.
    feature_names : list of str or None
        Names of the features.
    source : dict
        How the training data were read, so that data to predict are read alike: ``zero_based`` for svmlight files,
        ``label``, ``columns`` and ``header`` for tables.
    calibration : Calibration or None
        How scores become probabilities.
    multilabel : str or None
        Whether a row may have any number of the classes, and whether predictions are then "dense" or "sparse".

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.models.model import Model
    >>> model = Model("LinearSVC", {}, np.array(["no", "yes"]), np.array([[2.0]]), np.array([-1.0]))
    >>> model.predict(np.array([[1.0], [0.0]])).tolist()
    ['yes', 'no']
    """

    estimator: str
    parameters: dict[str, Any]
    classes: NDArray[Any]
    coef: Any
    intercept: Floats
    training: Training | None = None
    feature_names: list[str] | None = None
    source: dict[str, Any] = field(default_factory=dict)
    calibration: Calibration | None = None
    multilabel: str | None = None

    def __post_init__(self) -> None:
        # Weights of a feature side by side: one pass over a row scores all classes.
        if not isinstance(self.coef, Csr):
            object.__setattr__(self, "coef", np.asfortranarray(self.coef))

    @classmethod
    def of_solutions(
        cls,
        problems: list[Any],
        solutions: list[Solution],
        classes: NDArray[Any],
        labels: NDArray[np.intp],
        parameters: dict[str, Any],
        **others: Any,
    ) -> Model:
        """The model of solved problems: one for two classes, one for each of more, or one over all classes."""
        bias = parameters["intercept_scaling"] if parameters["fit_intercept"] else 0.0
        weights = weight_rows([solution.weights for solution in solutions])
        dual_coef = dual_rows(problems, solutions)
        support = np.zeros(len(labels), dtype=bool)
        support[dual_coef.indices] = True
        return cls(
            estimator="LinearSVC",
            parameters=parameters,
            classes=classes,
            coef=weights[:, :-1],
            intercept=bias * weights[:, -1],
            training=Training(
                primal=np.array([solution.certificate.primal for solution in solutions]),
                dual=np.array([solution.certificate.dual for solution in solutions]),
                converged=all(solution.converged for solution in solutions),
                n_iter=max(solution.n_iter for solution in solutions),
                solvers=[solution.solver for solution in solutions],
                n_support=np.bincount(labels[support], minlength=len(classes)),
                history=[solution.history for solution in solutions],
                exits=[solution.exit for solution in solutions],
                dual_coef=dual_coef,
            ),
            **others,
        )

    @classmethod
    def of_ranking(
        cls, problem: RankingProblem, solution: Solution, parameters: dict[str, Any], **others: Any
    ) -> Model:
        """The model of a solved ranking problem."""
        coef = solution.weights[np.newaxis, :-1]
        counts = problem.ranks.count(linear_scores(problem.matrix, coef, np.zeros(1)).ravel())
        dual_coef = Csr.of_rows([solution.alpha])
        return cls(
            estimator="LinearRankSVM",
            parameters=parameters,
            classes=NO_CLASSES,
            coef=coef,
            intercept=np.zeros(1),
            training=Training.of_one(
                solution,
                dual_coef,
                PairSummary(
                    float(counts.all.sum()), float(counts.swapped.sum()), float(counts.tied.sum()), len(counts.groups)
                ),
            ),
            **others,
        )

    @classmethod
    def of_regression(
        cls, problem: RegressionProblem, solution: Solution, parameters: dict[str, Any], **others: Any
    ) -> Model:
        """The model of a solved regression."""
        dual_coef = Csr.of_rows([problem.dual_coef(solution.alpha)])
        return cls(
            estimator="LinearSVR",
            parameters=parameters,
            classes=NO_CLASSES,
            coef=solution.weights[np.newaxis, :-1],
            intercept=problem.bias * solution.weights[-1:],
            training=Training.of_one(solution, dual_coef),
            **others,
        )

    @classmethod
    def of_one_class(
        cls, problem: OneClassProblem, solution: Solution, parameters: dict[str, Any], **others: Any
    ) -> Model:
        """The model of a solved one-class problem."""
        return cls(
            estimator="OneClassSVM",
            parameters=parameters,
            classes=INLIER_OR_NOT,
            coef=solution.weights[np.newaxis, :-1],
            # Rows that hold the hyperplane have a score of zero but for rounding: they are no outliers.
            intercept=solution.weights[-1:] + 1e-10 * np.abs(solution.weights[-1:]),
            training=Training.of_one(solution, Csr.of_rows([problem.dual_coef(solution.alpha)])),
            **others,
        )

    @property
    def predicts_numbers(self) -> bool:
        """Whether its scores are predictions of numbers."""
        return self.estimator == "LinearSVR"

    @property
    def ranks(self) -> bool:
        """Whether it orders rows instead of labelling them."""
        return len(self.classes) == 0 and not self.predicts_numbers

    def scores(self, X: Any) -> Floats:
        """Scores of rows, one column per row of ``coef``."""
        return linear_scores(X, self.coef, self.intercept)

    def probabilities(self, X: Any) -> Floats:
        """Probabilities of the classes of rows, one column for each; ``ValueError`` without a calibration."""
        if self.calibration is None:
            raise ValueError("this model has no probabilities; train with LinearSVCCV(calibrate='sigmoid')")
        return self.calibration.probabilities(self.scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels of rows, or their scores if the model ranks or predicts numbers."""
        scores = self.scores(X)
        if self.multilabel is not None:
            return np.asarray(indicator_of_scores(scores, "dense"))
        return scores.ravel() if len(self.classes) == 0 else np.asarray(self.classes[self.label_index(scores)])

    def label_index(self, scores: Floats) -> NDArray[np.intp]:
        """The number of the class that scores stand for; of a one-class model, a score of zero is no outlier."""
        if self.estimator == "OneClassSVM":
            return (scores.ravel() >= 0).astype(np.intp)
        return best_index(scores)
