"""A block of rows, and a block as a part of a problem: the sums that methods by rounds ask for.

Columns may be scaled for the sweeps, ``x_j r_j`` with weights ``w_j / r_j``. Scores are the same, and a step on the
scaled rows is one whose quadratic term is multiplied by ``r_j^2`` in column ``j`` (sigma' of CoCoA+, Ma et al. 2015,
but one for each column). The ``r_j`` are powers of two, so that scaling rounds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import _core
from maxmargin.problems.losses import LOSSES, Floats, Loss
from maxmargin.problems.matrix import Matrix, aligned
from maxmargin.problems.ranking import Ranks


@dataclass(frozen=True)
class Learning:
    """What is learned from blocks: the same for all of them.

    Parameters
    ----------
    kind : {"binary", "regression", "ranking"}
        What the labels are.
    C : float
        Weight of the losses.
    loss : Loss
        The loss.
    bias : float
        Value of the constant column; 0 means none.
    classes : ndarray
        The labels; for two of them there is one problem, else one for each.
    class_weights : ndarray
        Weight of each class.
    """

    kind: str
    C: float
    loss: Loss
    bias: float
    classes: NDArray[Any]
    class_weights: Floats

    @classmethod
    def of_classes(
        cls, classes: NDArray[Any], *, C: float, loss: str, bias: float, class_weights: Floats | None = None
    ) -> Learning:
        """To tell classes apart."""
        weights = np.ones(len(classes)) if class_weights is None else class_weights
        return cls("binary", float(C), LOSSES[loss], float(bias), classes, weights)

    @classmethod
    def of_numbers(cls, *, C: float, loss: Loss, bias: float) -> Learning:
        """To predict numbers."""
        return cls("regression", float(C), loss, float(bias), np.zeros(0), np.ones(1))

    @classmethod
    def of_ranks(cls, *, C: float) -> Learning:
        """To order rows within groups."""
        return cls("ranking", float(C), LOSSES["hinge"], 0.0, np.zeros(0), np.ones(1))

    @property
    def problems(self) -> int:
        """How many problems there are."""
        return len(self.classes) if len(self.classes) > 2 else 1


def by_rows(X: Any) -> Any:
    """Rows in C order whose numbers are aligned.

    Arrays out of a message need not be, and then numpy multiplies them by another loop, which rounds differently.
    """
    return aligned(X if hasattr(X, "indptr") else np.ascontiguousarray(X))


@dataclass
class Block:
    """Rows with their labels, as one task holds them; a plain value that can be sent and made again.

    Parameters
    ----------
    X : ndarray or CSR matrix
        C-ordered rows, float32 or float64.
    y : ndarray
        Labels or numbers, one for each row.
    weight : ndarray or None
        Weight of each row.
    qid : ndarray or None
        Group of each row.
    learning : Learning or None
        What is learned, once that is known.
    scales : ndarray or None
        What the columns, and last the constant column, are multiplied by.
    number : int
        Which of the blocks it is.
    """

    X: Any
    y: NDArray[Any]
    weight: Floats | None = None
    qid: NDArray[Any] | None = None
    learning: Learning | None = None
    scales: Floats | None = None
    number: int = 0

    def bind(self, learning: Learning, scales: Floats | None = None) -> Block:
        """The block for what is learned, its columns scaled."""
        X = self.X
        if scales is not None and np.any(scales != 1.0):
            factors = scales[:-1].astype(X.dtype)
            if hasattr(X, "indptr"):
                X = type(X)((X.data * factors[X.indices], X.indices, X.indptr), shape=X.shape)
            else:
                X = X * factors
        return Block(X, self.y, self.weight, self.qid, learning, scales, self.number)

    def __getstate__(self) -> dict[str, Any]:
        # Rows of the core and parts are made again where they are needed.
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.X = by_rows(self.X)

    @cached_property
    def matrix(self) -> Matrix:
        """The rows, checked once."""
        return Matrix(self.X)

    @cached_property
    def _parts(self) -> dict[int, Part]:
        return {}

    def part(self, number: int) -> Part:
        """The block as a part of one of the problems."""
        if number not in self._parts:
            self._parts[number] = Part(self, number)
        return self._parts[number]


class Part:
    """A block as a part of one problem: slacks ``target - sign * score``, and sums over rows.

    Parameters
    ----------
    block : Block
        Bound to what is learned.
    number : int
        The problem.
    """

    def __init__(self, block: Block, number: int) -> None:
        assert block.learning is not None
        learning = block.learning
        self.block, self.loss, self.bias = block, learning.loss, learning.bias
        size = len(block.y)
        weight = np.ones(size) if block.weight is None else block.weight
        self.target: Floats = np.ones(size)
        self.sign: NDArray[np.int8] = np.ones(size, dtype=np.int8)
        if learning.kind == "binary":
            labels = np.searchsorted(learning.classes, block.y)
            positive = number if learning.problems > 1 else 1
            self.sign = np.where(labels == positive, np.int8(1), np.int8(-1))
            weight = weight * learning.class_weights[labels]
        elif learning.kind == "regression":
            self.target = block.y.astype(np.float64)
        self.C: Floats = learning.C * weight
        self.used = np.flatnonzero(self.C > 0).astype(np.uint32)

    @property
    def features(self) -> int:
        """Columns, without the constant one."""
        return int(self.block.X.shape[1])

    @cached_property
    def ranks(self) -> Ranks:
        """The pairs of a ranking."""
        return Ranks(self.block.y, self.block.qid, self.block.weight)

    @cached_property
    def diagonal(self) -> Floats:
        """``D_ii``."""
        return np.asarray(self.loss.diagonal_times_C / np.where(self.C > 0, self.C, 1.0))

    def clip(self, alpha: Floats) -> Floats:
        """Variables brought within their bounds."""
        return np.clip(alpha, self.loss.lower(self.C), self.loss.upper(self.C))

    def scores(self, w: Floats) -> Floats:
        """Scores of all rows, for weights whose last entry is the bias."""
        w = self._scaled(w)
        return np.asarray(self.block.X @ w[:-1] + self._column * w[-1])

    def losses(self, scores: Floats) -> float:
        """The sum of the losses."""
        return float(self.loss.primal(self.target - self.sign * scores, self.C).sum())

    def weights(self, alpha: Floats) -> Floats:
        """``sum_i sign_i alpha_i x_i``, the bias last."""
        signed = self.sign * alpha
        w = np.append(self.block.X.T @ signed, self._column * signed.sum())
        return w if self.block.scales is None else w / self.block.scales

    def dual_terms(self, alpha: Floats) -> float:
        """The dual value but for ``-|w|^2 / 2``."""
        return float(self.loss.dual_terms(alpha, self.C, self.target).sum())

    def sweep(self, alpha: Floats, w: Floats, passes: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Some passes of dual coordinate descent against these weights: the new variables, the change of weights."""
        if len(self.used) == 0:
            return alpha, np.zeros_like(w)
        now = start = self._scaled(w)
        for _ in range(passes):
            alpha, now, *_ = _core.dual_sweep(self._state, alpha, now, rng.permutation(self.used), 1.0)
        change = now - start
        return alpha, change if self.block.scales is None else change / self.block.scales

    @cached_property
    def _state(self) -> _core.BinaryState:
        rows, loss = self.block.matrix.rows, self.loss.core
        return _core.BinaryState(rows, self.sign, self.target, self.C, loss, self._column, free_bias=False)

    @property
    def _column(self) -> float:
        return self.bias if self.block.scales is None else float(self.bias * self.block.scales[-1])

    def _scaled(self, w: Floats) -> Floats:
        """Weights for the scaled columns: ``w_j x_j = (w_j / r_j) (x_j r_j)``."""
        w = np.require(w, requirements=["A"])
        return w if self.block.scales is None else w / self.block.scales
