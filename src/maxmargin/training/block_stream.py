"""Blocks as the streamed methods see them: rows in pieces, with the classes, targets and weights that belong to them.

Labels, weights and query numbers come with each block, so that nothing grows with the number of rows, unless they are
given as arrays. Where rows from random places are asked for, several blocks become one piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.blocks import Block, Blocks
from maxmargin.io.read_ahead import read_ahead
from maxmargin.problems.losses import Floats
from maxmargin.problems.matrix import Matrix
from maxmargin.solvers.streamed.kept_rows import NO_ROWS, join_pieces
from maxmargin.solvers.streamed.stream import Piece
from maxmargin.training.weights import class_weights

#: Share of the memory for one piece of rows from random places; another such piece is read meanwhile.
PIECE_SHARE = 0.1


class BlockStream:
    """Blocks with labels.

    Parameters
    ----------
    blocks : Blocks
        The rows.
    C : float
        Weight of the losses.
    y, sample_weight : array of shape (rows,), optional
        Instead of those of the blocks.
    classes : ndarray, optional
        The classes, for a classification; without them labels are numbers.
    class_weight : dict or "balanced", optional
        Weight of each class.
    qid : array of shape (rows,), optional
        Groups of rows, instead of those of the blocks.
    """

    def __init__(
        self,
        blocks: Blocks,
        C: float = 1.0,
        *,
        y: Any = None,
        sample_weight: Any = None,
        classes: NDArray[Any] | None = None,
        class_weight: Any = None,
        qid: Any = None,
    ) -> None:
        self.blocks, self.C, self.classes = blocks, float(C), classes
        self.shape = blocks.shape
        self.y = _one_per_row(y, "y", self.shape[0])
        self.sample_weight = _one_per_row(sample_weight, "sample_weight", self.shape[0])
        self.groups: NDArray[np.int64] | None = None
        if qid is not None:
            groups = _one_per_row(qid, "qid", self.shape[0])
            self.groups = np.unique(groups, return_inverse=True)[1].astype(np.int64)
        if self.sample_weight is not None:
            self.sample_weight = self.sample_weight.astype(np.float64)
            if not np.all(np.isfinite(self.sample_weight)) or np.any(self.sample_weight < 0):
                raise ValueError("sample_weight must be finite and not negative")
        self.weights_of_classes: Floats | None = None
        weighted = self.sample_weight is not None or blocks.manifest["weights"]
        if weighted and not any(np.any(piece.C > 0) for piece in self.sides(weighted=False)):
            raise ValueError("sample_weight must be positive for at least one row")
        if class_weight is not None:
            assert classes is not None
            counts = self.class_counts()
            every = np.arange(len(classes))
            self.weights_of_classes = class_weights(class_weight, classes, every, counts)

    def spare_memory(self) -> int:
        """Bytes that may still be taken."""
        return self.blocks.spare_memory()

    def class_counts(self) -> Floats:
        """The sum of the weights of the rows of each class."""
        assert self.classes is not None
        counts = np.zeros(len(self.classes))
        for piece in self.sides(weighted=False):
            assert piece.labels is not None
            counts += np.bincount(piece.labels, weights=piece.C, minlength=len(self.classes))
        return counts

    def pieces(self, random: np.random.Generator | None = None) -> Iterator[Piece]:
        """All rows, in their order; or, with a generator, in pieces of rows from random places."""
        if random is None:
            for block in self.blocks.blocks(ahead=2):
                yield self._piece(block)
            return
        count = max(int(PIECE_SHARE * self.spare_memory()) // max(self.blocks.largest, 1), 1)
        order = random.permutation(self.blocks.n_blocks)
        groups = [order[begin : begin + count] for begin in range(0, len(order), count)]
        yield from read_ahead(groups, self._joined)

    def _joined(self, numbers: NDArray[np.int64]) -> Piece:
        """Several blocks as one piece, with all that takes a pass over its rows: done by the thread that reads."""
        parts = [(block.X, self._given(block)) for block in self.blocks.blocks(ahead=0, order=numbers)]
        piece = join_pieces(parts)
        piece.matrix.mean_squared_norm()
        return piece

    def sides(self, weighted: bool = True) -> Iterator[Piece]:
        """The pieces without their rows, which are not read for that; perhaps with sample weights instead of C."""
        for block in self.blocks.blocks(ahead=0, sides_only=True):
            yield self._given(block, weighted)

    def _piece(self, block: Block) -> Piece:
        return self._given(block)._replace(matrix=Matrix(block.X), numbers=None)

    def _given(self, block: Block, weighted: bool = True) -> Piece:
        rows = slice(block.begin, block.begin + block.X.shape[0])
        y = block.y if self.y is None else self.y[rows]
        if y is None:
            raise ValueError(f"{self.blocks.path} has no labels; give them as y")
        weight = block.sample_weight if self.sample_weight is None else self.sample_weight[rows]
        C = np.full(len(y), self.C if weighted else 1.0)
        if weight is not None:
            C = C * weight
        labels, targets = None, None
        if self.classes is None:
            targets = _numbers(y)
        else:
            labels = np.searchsorted(self.classes, y)
            if np.any(self.classes[np.minimum(labels, len(self.classes) - 1)] != y):
                shown = ", ".join(map(repr, self.classes.tolist()[:10]))
                raise ValueError(f"{self.blocks.path} has labels that are none of the classes {shown}")
            if weighted and self.weights_of_classes is not None:
                C = C * self.weights_of_classes[labels]
        groups = block.qid if self.groups is None else self.groups[rows]
        return Piece(NO_ROWS, block.begin, C, labels, targets, groups, np.arange(rows.start, rows.stop))


def _one_per_row(values: Any, name: str, rows: int) -> Any:
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (rows,):
        raise ValueError(f"{name} must have shape ({rows},) to match the rows of the blocks, not {array.shape}")
    return array


def _numbers(y: Any) -> Floats:
    if y.dtype.kind not in "iufb":
        raise ValueError(f"y must hold numbers to predict, not {y.dtype}")
    targets: Floats = y.astype(np.float64)
    if not np.all(np.abs(targets) <= 1e50):
        raise ValueError("y must hold finite numbers of at most 1e50")
    return targets
