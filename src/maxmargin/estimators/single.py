"""Estimators that solve one problem with one variable per row: regression and one class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxmargin.estimators.base import CertifiedEstimator, seed_of
from maxmargin.estimators.progress import follow
from maxmargin.models.model import Model
from maxmargin.problems.losses import Floats
from maxmargin.problems.one_class import OneClassProblem
from maxmargin.problems.regression import RegressionProblem
from maxmargin.solvers.deadline import Deadline
from maxmargin.solvers.method import Method
from maxmargin.solvers.solution import Solution
from maxmargin.training.checkpoint import solve_one

Problem = RegressionProblem | OneClassProblem


class SingleProblemEstimator(CertifiedEstimator):
    """Solves, tells callbacks, and takes the model."""

    def _train(
        self,
        problem: Problem,
        method: Method,
        deadline: Deadline,
        told: dict[str, Any],
        attributes: Callable[[Floats], dict[str, Any]],
        make_model: Callable[[Solution, dict[str, Any]], Model],
    ) -> tuple[Model, Solution]:
        """Callbacks hear of the fit's arguments, ``told``, and of the fitted ``attributes`` that weights stand for."""
        start = self._start(problem)
        progress = follow(self, told, attributes)
        progress.begin()
        solution = solve_one(
            problem,
            method,
            checkpoint=self.checkpoint,
            checkpoint_interval=self.checkpoint_interval,
            tol=self.tol,
            max_iter=self.max_iter,
            time_limit=deadline.left(reserve=deadline.spent()),  # to make a model takes about as long as the checks
            start=start,
            seed=seed_of(self.random_state),
            callback=progress.report if progress.listens else None,
            pack=self.pack,
            n_jobs=self.n_jobs,
        )
        model = make_model(solution, self.get_params(deep=False))
        self._set(model)
        progress.end()
        return model, solution

    def _start(self, problem: Problem) -> Floats | None:
        """The dual variables of the previous fit."""
        if not self.warm_start or not hasattr(self, "dual_coef_"):
            return None
        rows = self.dual_coef_.shape[1]
        if rows != problem.shape[0]:
            raise ValueError(
                f"warm_start=True continues from {rows} rows, but this fit has {problem.shape[0]}; use warm_start=False"
            )
        return problem.alpha_of(self.dual_coef_.toarray().ravel())
