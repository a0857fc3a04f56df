"""What a streamed method is given: rows in pieces, the problems over them, limits, and who hears of its rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopFlag
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.losses import Floats, Loss
from maxmargin.problems.matrix import Matrix
from maxmargin.solvers.run import Callback
from maxmargin.solvers.solution import Report, Solution


class Piece(NamedTuple):
    """Some rows, with what is given for them."""

    matrix: Matrix
    begin: int  # number of its first row
    C: Floats
    labels: NDArray[np.intp] | None  # numbers of classes, for a classification
    targets: Floats | None  # for a regression or a ranking
    groups: NDArray[np.int64] | None = None  # for a ranking
    numbers: NDArray[np.intp] | None = None  # of its rows, where they do not follow each other

    @property
    def rows(self) -> Any:
        """Where its rows lie among all."""
        return slice(self.begin, self.begin + len(self.C)) if self.numbers is None else self.numbers

    def sides(self, positive: int | None) -> tuple[NDArray[np.int8], Floats | None]:
        """Signs and targets of the rows in the problem of a positive class, or of a regression."""
        if positive is None:
            return np.ones(len(self.C), dtype=np.int8), self.targets
        return np.where(self.labels == positive, np.int8(1), np.int8(-1)), None


class Stream(Protocol):
    """Rows that are read piece by piece, as often as one likes."""

    shape: tuple[int, int]

    def pieces(self, random: np.random.Generator | None = None) -> Iterator[Piece]:
        """All rows, in their order; or, with a generator, in pieces of rows from random places."""

    def sides(self) -> Iterator[Piece]:
        """The pieces without their rows, which need not be read for that."""

    def spare_memory(self) -> int:
        """Bytes that may still be taken."""


class Margins(NamedTuple):
    """Problems of one score per row over the same rows: classes against the rest, or one regression."""

    positives: Sequence[int | None]
    loss: Loss
    bias: float


@dataclass
class Limits:
    """When to end, and who hears of it: one callback for each problem, or None."""

    tol: float = 1e-3
    max_iter: int = 10_000
    time_limit: float | None = None
    seed: int = 0
    stop: StopFlag = field(default_factory=StopFlag)
    callbacks: Sequence[Callback | None] = ()


class Interrupted(Exception):
    """The limits do not allow the rest of a pass."""


class Bounds:
    """The best weights and the best dual value of one problem, and its history."""

    def __init__(self, primal: float, weights: Floats, dual: float = 0.0) -> None:
        self.primal, self.weights, self.dual = primal, weights, dual
        self.exit: str | None = None
        self.history: list[Report] = []

    @property
    def gap(self) -> float:
        """The certified relative gap."""
        return Certificate(self.primal, self.dual).gap

    def offer_weights(self, primal: float, weights: Floats) -> None:
        """Kept if better."""
        if primal < self.primal:
            self.primal, self.weights = primal, weights.copy()

    def offer_dual(self, dual: float) -> bool:
        """Whether this dual value is the best."""
        better = dual > self.dual
        self.dual = max(self.dual, dual)
        return better


class Watch:
    """Time, reports and the reasons to end of a streamed fit.

    Parameters
    ----------
    name : str
        The method.
    limits : Limits
        As they were asked for.
    of_report : callable, optional
        Turns weights into those that callbacks hear of.
    """

    def __init__(self, name: str, limits: Limits, of_report: Callable[[Floats], Floats] | None = None) -> None:
        self.name, self.limits = name, limits
        self.begin = time.perf_counter()
        self.check_seconds = 0.0
        self.rounds = 0
        self.of_report = of_report or (lambda weights: weights)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self.begin

    @property
    def exit(self) -> str | None:
        """Why not to go on, if so."""
        if self.limits.stop.is_set():
            return "stopped"
        limit = self.limits.time_limit
        return "time_limit" if limit is not None and self.seconds >= limit else None

    def look(self) -> None:
        """Between two pieces: out of here, if there is a reason."""
        if self.exit is not None:
            raise Interrupted

    def report(self, number: int, bounds: Bounds, active: int) -> None:
        """The bounds of a problem after a round; sets why it ends, if it does."""
        if bounds.gap <= self.limits.tol:
            bounds.exit = "converged"
        report = Report(
            self.name,
            self.rounds,
            self.seconds,
            bounds.primal,
            bounds.dual,
            bounds.gap,
            active,
            self.check_seconds,
        )
        bounds.history.append(report)
        callback = self.limits.callbacks[number] if self.limits.callbacks else None
        if callback is not None and callback(report, self.of_report(bounds.weights)):
            self.limits.stop.set()

    def solution(self, bounds: Bounds, alpha: Any, points: Floats | None = None) -> Solution:
        """What was found."""
        reason = bounds.exit or self.exit or "max_iter"
        return Solution(
            weights=bounds.weights,
            alpha=alpha,
            certificate=Certificate(bounds.primal, bounds.dual),
            exit="converged" if bounds.gap <= self.limits.tol else reason,
            n_iter=self.rounds,
            solver=self.name,
            seconds=self.seconds,
            check_seconds=self.check_seconds,
            history=bounds.history,
            points=points,
        )


def half_square(weights: Floats) -> float:
    """``|w|^2 / 2``."""
    return 0.5 * float(np.vdot(weights, weights))


def losses_at_zero(stream: Stream, positive: int | None, loss: Loss) -> float:
    """The losses at weights of zero, without a look at the rows."""
    total = 0.0
    for piece in stream.sides():
        _, targets = piece.sides(positive)
        total += float(loss.primal(np.ones(len(piece.C)) if targets is None else targets, piece.C).sum())
    return total


def scores_of(matrix: Matrix, weights: Floats, bias: float) -> Floats:
    """Scores of rows by weights of shape (problems, features + 1), one column for each problem."""
    scores: Floats = matrix.scores(np.asfortranarray(weights[:, :-1]), bias * weights[:, -1])
    return scores
