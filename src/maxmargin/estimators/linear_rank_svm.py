"""The linear ranking support vector machine, by scikit-learn's conventions."""

from __future__ import annotations

import time
import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.callback import with_callbacks
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted, validate_data

from maxmargin.estimators.base import BoundedDecisionMixin, CertifiedEstimator, constraints_but
from maxmargin.estimators.on_blocks import labels_of
from maxmargin.estimators.progress import Progress, follow
from maxmargin.io.blocks import Blocks
from maxmargin.io.files import PathLike
from maxmargin.models.model import Model
from maxmargin.problems.losses import Floats
from maxmargin.problems.ranking import RankingProblem, count_pairs
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.methods import solvers_for
from maxmargin.training.checkpoint import INTERVAL, solve_one
from maxmargin.training.method_choice import narrow_method
from maxmargin.training.streaming import loaded, train_ranker_on_blocks


class LinearRankSVM(BoundedDecisionMixin, CertifiedEstimator):
    """Linear ranking by pairs (ordinal regression, ROC area), trained to a certified duality gap.

    Minimises ``1/2 |w|^2 + C/m sum max(0, 1 - (w.x_i - w.x_j))`` over the ``m`` pairs with ``y_i > y_j`` (OP4 of
    Joachims 2006). Rows have groups (queries), and only rows of one group form pairs. No pair is ever written down: a
    pass over ``n`` rows takes time ``n log n``, however many ranks and pairs there are. With two ranks in one group
    this optimises the area under the ROC curve.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the mean loss of a pair against the regulariser.
    tol : float, default=1e-3
        Relative duality gap to reach: no other solution has an objective smaller by more than this share.
    max_iter : int, default=10000
        Most cuts.
    solver : str or Method, default="auto"
        "auto", "cutting_plane" or a `CuttingPlane` object; ``CuttingPlane(acceleration=False)`` trains as Algorithm 2
        of the paper, which takes several times as many cuts.
    warm_start : bool, default=False
        Start from cuts where those of the previous fit were. The data may change, but not the number of features. A
        model from a file, or fitted without it, knows its weights only, from which less is gained.
    n_jobs : int, default=None
        Threads; None means 1, -1 all processors. They share the passes over the rows and predictions. The result does
        not depend on it.
    time_limit : float, default=None
        Seconds for the whole fit. The best weights so far are kept, with the exact gap they have.
    checkpoint : path, default=None
        A file for the state of the fit, written whole at intervals. If the process is killed, a fit of the same data
        and parameters goes on from there; ``tol``, ``solver`` and limits may be others. A file of another fit is
        replaced if that fit has reached its ``tol``, and refused else. With a checkpoint the last bits of a model
        depend on the clock. The parameter is not stored in model files.
    checkpoint_interval : float, default=60.0
        Seconds of work that may be lost at most (plus one epoch, step or cut).
    verbose : int, default=0
        1 prints a line per cut that shows anything new.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        The weights of lowest objective that were seen, near ``dual_coef_ @ X``.
    intercept_ : ndarray of shape (1,)
        Zero: differences of scores have no intercept.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, when ``X`` has them.
    n_iter_ : int
        Cuts made.
    dual_coef_ : sparse array of shape (1, n_samples)
        For each row the dual variables of the pairs of which it is the higher one, minus those of the others.
    support_ : ndarray of shape (n_SV,)
        Rows with a nonzero entry there.
    n_support_ : ndarray of shape (1,)
        How many.
    n_pairs_ : float
        Pairs of different rank in the training data, or the sum of their weights.
    n_swapped_, n_tied_ : float
        How many of them the model puts in the wrong order, and gives equal scores.
    primal_objective_, dual_objective_, duality_gap_ : float
        The certificate: the optimum lies between the two objectives.
    converged_ : bool
        Whether the certified gap is at most ``tol``.
    solver_used_ : str
        "cutting_plane".
    history_ : list of Report
        The exact values along the way.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearRankSVM
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [1.0, 3.0], [0.0, 2.0]])
    >>> relevance = [1, 0, 2, 1, 0]
    >>> query = [1, 1, 1, 2, 2]
    >>> model = LinearRankSVM(C=10.0).fit(X, relevance, qid=query)
    >>> model.score(X, relevance, qid=query)
    1.0
    >>> model.n_pairs_, model.n_swapped_
    (4.0, 0.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [StrOptions(set(solvers_for("ranking"))), Method],
        **constraints_but(
            "dual", "fit_intercept", "penalize_intercept", "intercept_scaling", "shrinking", "pack", "random_state"
        ),
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 10_000,
        solver: str | Method = "auto",
        warm_start: bool = False,
        n_jobs: int | None = None,
        time_limit: float | None = None,
        checkpoint: PathLike | None = None,
        checkpoint_interval: float = INTERVAL,
        verbose: int = 0,
    ) -> None:
        self._keep(locals())

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: Any, y: Any = None, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> LinearRankSVM:
        """Train on rows ``X`` with ranks ``y``.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features), or Blocks
            float32 and float64, CSR or C-ordered dense, are used where they lie; all else is converted by one copy.
            `Blocks` are loaded if they fit within their memory limit, and read round by round else.
        y : array of shape (n_samples,)
            Numbers: a larger one means a higher rank. Their distances do not matter. Blocks have their own, and their
            own groups and weights, unless others are given.
        qid : array of shape (n_samples,), default=None
            The group (query) of each row, in any order; only rows of one group form pairs. None is one group.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row; a pair counts by the product of its two, so that 2 is the same as writing the row twice.

        Returns
        -------
        LinearRankSVM
            The estimator itself.
        """
        deadline = Deadline(self.time_limit)
        X, y, sample_weight, qid = loaded(X, y, sample_weight, qid)
        if isinstance(X, Blocks):
            return self._fit_blocks(X, y, qid, sample_weight, deadline)
        X, y, weight = checked_ranks(self, X, y, qid, sample_weight)
        begin = time.perf_counter()
        problem = RankingProblem(X, y, self.C, qid=qid, weights=weight)
        later = 2 * (time.perf_counter() - begin)  # the pairs are counted again when the fit is done
        points = self._initial_points(X.shape[1])
        progress = self._start_callbacks(X, y, qid, sample_weight)
        progress.begin()
        solution = solve_one(
            problem,
            self.solver,
            checkpoint=self.checkpoint,
            checkpoint_interval=self.checkpoint_interval,
            tol=self.tol,
            max_iter=self.max_iter,
            start=points,
            time_limit=deadline.left(later),
            callback=progress.report if progress.listens else None,
            n_jobs=self.n_jobs,
        )
        model = Model.of_ranking(problem, solution, self.get_params(deep=False))
        self._set(model)
        self._points = solution.points if self.warm_start else None
        self._with_qid = qid is not None
        progress.end()
        self._warn_unless_converged(model.training, X)
        return self

    def _fit_blocks(self, blocks: Blocks, y: Any, qid: Any, sample_weight: Any, deadline: Deadline) -> LinearRankSVM:
        """Train on rows that are read block by block."""
        self._take_blocks(blocks)
        model = train_ranker_on_blocks(
            blocks,
            self.get_params(deep=False),
            narrow_method(self.solver, "ranking", None),
            y=y,
            qid=qid,
            sample_weight=sample_weight,
            listeners=[self._start_callbacks(blocks, y, qid, sample_weight)],
            time_limit=deadline.left(),
        )
        self._set(model)
        self._points = None
        self._with_qid = qid is not None or bool(blocks.manifest["qid"])
        self._warn_unless_converged(model.training, blocks)
        return self

    def predict(self, X: Any) -> Floats:
        """Scores to order the rows of a group by, the same as `decision_function`.

        Scores of different groups do not compare.
        """
        return self.decision_function(X)

    def score(
        self, X: Any, y: Any = None, qid: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Share of the pairs that are in the right order, ties as half: for two ranks in one group the ROC area.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            Their true ranks.
        qid : array of shape (n_samples,), default=None
            Their groups; only rows of one group form pairs.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row; a pair counts by the product of its two.

        Returns
        -------
        float
            Between 0 and 1.

        Warns
        -----
        UserWarning
            The model was fitted with ``qid`` and none is given: then all rows are compared with each other, which is
            another measure. ``cross_val_score`` and ``GridSearchCV`` hand it on only when asked to by metadata routing
            (``set_fit_request(qid=True).set_score_request(qid=True)``).
        """
        if isinstance(X, Blocks):
            qid = X.qid if qid is None else qid
            sample_weight = X.sample_weight if sample_weight is None else sample_weight
        y = labels_of(X, y)
        if qid is None and self._knows_groups():
            warnings.warn(
                "the model was fitted with qid, but score got none, and so it compares rows of different groups with "
                "each other. Pass qid to score; in cross-validation, enable metadata routing "
                "(sklearn.set_config(enable_metadata_routing=True)) and use "
                "LinearRankSVM().set_fit_request(qid=True).set_score_request(qid=True).",
                stacklevel=2,
            )
        return count_pairs(y, self.decision_function(X), qid, sample_weight).share_in_order

    def score_groups(self, X: Any, y: ArrayLike, qid: ArrayLike) -> tuple[NDArray[Any], Floats]:
        """The same for each group by itself.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
            Rows.
        y : array of shape (n_samples,)
            Their true ranks.
        qid : array of shape (n_samples,)
            Their groups.

        Returns
        -------
        groups : ndarray
            The groups that have pairs, sorted.
        shares : ndarray
            Share of the pairs of each that are in the right order.
        """
        counts = count_pairs(y, self.decision_function(X), qid)
        return counts.groups, counts.shares_in_order

    def to_sklearn(self) -> Any:
        """The fitted model as scikit-learn's own ``LinearRegression``, whose predictions are the scores.

        scikit-learn has no ranker; its linear regression has the same formula, and every tool that knows scikit-learn's
        estimators takes it.

        Returns
        -------
        sklearn.linear_model.LinearRegression
            Fitted.

        Examples
        --------
        >>> import numpy as np
        >>> from maxmargin import LinearRankSVM
        >>> X = np.array([[0.0], [1.0], [3.0]])
        >>> model = LinearRankSVM().fit(X, [1, 2, 3])
        >>> bool(np.allclose(model.to_sklearn().predict(X), model.predict(X)))
        True
        """
        check_is_fitted(self)
        from maxmargin.estimators.twins import ranker_twin

        return ranker_twin(self)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = True
        return tags

    def _knows_groups(self) -> bool:
        """Whether rows were compared within groups in training, as far as a model from a file tells."""
        groups: int = self._pairs.groups if hasattr(self, "_pairs") else 1
        return bool(getattr(self, "_with_qid", groups > 1))

    def _initial_points(self, features: int) -> Floats | None:
        if not self.warm_start or not hasattr(self, "coef_"):
            return None
        points: Floats | None = getattr(self, "_points", None)
        if points is None:  # fitted without warm_start, or from a file: the weights alone
            points = np.append(self.coef_, [[0.0]], axis=1)
        if points.shape[1] != features + 1:
            raise ValueError(
                f"warm_start=True continues from {points.shape[1] - 1} features, but X has {features}; "
                "use warm_start=False"
            )
        return points

    def _start_callbacks(self, X: Any, y: Any, qid: Any, sample_weight: Any) -> Progress:
        return follow(
            self,
            {"X": X, "y": y, "metadata": {"qid": qid, "sample_weight": sample_weight}},
            lambda weights: {"coef_": weights[np.newaxis, :-1], "intercept_": np.zeros(1)},
        )


def checked_ranks(estimator: Any, X: Any, y: Any, qid: Any, sample_weight: Any) -> tuple[Any, Any, Floats | None]:
    """Rows, ranks and weights of rows, as scikit-learn checks them."""
    X, y = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=[np.float64, np.float32],
        order="C",
        y_numeric=True,
        ensure_min_samples=2,
    )
    check_consistent_length(X, qid)
    weight: Floats | None = None
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return X, y, weight
