"""Rows kept in memory between two rounds: a sample of those that still move, as large as the limit allows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems.csr import Csr
from maxmargin.problems.matrix import Matrix
from maxmargin.solvers.streamed.stream import Piece


class KeptRows:
    """Copies of rows, from each piece its share of the budget.

    Parameters
    ----------
    budget : int
        Bytes.
    rows : int
        The number of all rows.
    """

    def __init__(self, budget: int, rows: int) -> None:
        self.budget, self.rows = budget, rows
        self.clear()

    def clear(self) -> None:
        """Forget all of them."""
        self.parts: list[tuple[Any, Piece]] = []
        self.used = self.seen = 0

    def offer(self, piece: Piece, moving: NDArray[np.bool_]) -> None:
        """Copy those rows of a piece that move, up to its share."""
        X = piece.matrix.X
        self.seen += len(piece.C)
        share = self.budget * self.seen // max(self.rows, 1) - self.used
        rows = np.flatnonzero(moving)
        if hasattr(X, "indptr"):
            sizes = np.diff(X.indptr)[rows] * (X.data.dtype.itemsize + X.indices.dtype.itemsize) + 100
        else:
            sizes = np.full(len(rows), X.shape[1] * X.dtype.itemsize + 100)
        ends = np.cumsum(sizes)
        rows = rows[: int(np.searchsorted(ends, share, side="right"))]
        if len(rows) == 0:
            return
        self.used += int(ends[len(rows) - 1])
        numbers = np.arange(piece.begin, piece.begin + len(piece.C)) if piece.numbers is None else piece.numbers
        labels = None if piece.labels is None else piece.labels[rows]
        targets = None if piece.targets is None else piece.targets[rows]
        taken = take_rows(X, rows) if hasattr(X, "indptr") else X[rows]
        self.parts.append((taken, Piece(NO_ROWS, 0, piece.C[rows], labels, targets, None, numbers[rows])))

    def piece(self) -> Piece | None:
        """All kept rows as one piece; their copies are given up."""
        parts, self.parts = self.parts, []
        return join_pieces(parts) if parts else None


NO_ROWS = Matrix(np.zeros((0, 1)))


def join_pieces(parts: list[tuple[Any, Piece]]) -> Piece:
    """Rows, and what is given for them, as one piece. The list is emptied, so that memory is not needed twice."""
    given = [piece for _, piece in parts]
    X = join_rows([rows for rows, _ in parts])
    parts.clear()
    sides = [
        None if getattr(given[0], name) is None else np.concatenate([getattr(piece, name) for piece in given])
        for name in ("C", "labels", "targets", "numbers")
    ]
    C, labels, targets, numbers = sides
    assert C is not None
    return Piece(Matrix(X), 0, C, labels, targets, None, numbers)


def take_rows(X: Any, rows: NDArray[np.intp]) -> Csr:
    """Some rows of a CSR matrix, copied."""
    starts = np.asarray(X.indptr)
    counts = (starts[1:] - starts[:-1])[rows]
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    places = np.arange(indptr[-1]) + np.repeat(starts[:-1][rows] - indptr[:-1], counts)
    return Csr(X.data[places], X.indices[places], indptr, (len(rows), X.shape[1]))


def join_rows(parts: list[Any]) -> Any:
    """Rows of several matrices below each other."""
    if len(parts) == 1:
        return parts[0]
    if not hasattr(parts[0], "indptr"):
        return np.concatenate(parts)
    starts = np.cumsum([0, *(int(part.indptr[-1]) for part in parts)])
    indptr = np.concatenate([[0], *(part.indptr[1:] + start for part, start in zip(parts, starts, strict=False))])
    return Csr(
        np.concatenate([part.data for part in parts]),
        np.concatenate([part.indices for part in parts]),
        indptr.astype(np.int64),
        (len(indptr) - 1, parts[0].shape[1]),
    )
