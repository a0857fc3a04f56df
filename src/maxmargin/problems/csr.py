"""Sparse rows as three arrays and a shape: what a scipy CSR matrix holds, without the time it takes to import scipy."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems.losses import Floats


class _Arrays(NamedTuple):
    data: NDArray[Any]
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shape: tuple[int, int]


class Csr(_Arrays):
    """A matrix in compressed sparse row form.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems.csr import Csr
    >>> Csr.of_rows([np.array([0.0, 2.0]), np.array([0.0, 0.0])]).to_scipy().toarray()
    array([[0., 2.],
           [0., 0.]])
    """

    __slots__ = ()
    format: ClassVar[str] = "csr"

    @classmethod
    def of_rows(cls, rows: list[Floats]) -> Csr:
        """The nonzero entries of dense rows."""
        indices = [np.flatnonzero(row) for row in rows]
        columns = len(rows[0])
        return cls(
            np.concatenate([row[index] for row, index in zip(rows, indices, strict=True)]),
            np.concatenate(indices).astype(np.int32 if columns <= np.iinfo(np.int32).max else np.int64),
            np.cumsum([0, *map(len, indices)]),
            (len(rows), columns),
        )

    def rows(self, begin: int, end: int) -> Csr:
        """Some of the rows, over the same memory."""
        first, last = self.indptr[begin], self.indptr[end]
        pointers = self.indptr[begin : end + 1] - first
        return Csr(self.data[first:last], self.indices[first:last], pointers, (end - begin, self.shape[1]))

    def with_columns(self, columns: int) -> tuple[Csr, int]:
        """The same rows with more columns, or with fewer; then the second result says how many values that drops."""
        if self.shape[1] <= columns:
            return Csr(self.data, self.indices, self.indptr, (self.shape[0], columns)), 0
        kept = self.indices < columns
        before = np.concatenate([[0], np.cumsum(kept)])
        rows = Csr(self.data[kept], self.indices[kept], before[self.indptr], (self.shape[0], columns))
        return rows, int(len(kept) - before[-1])

    def to_scipy(self) -> Any:
        """The same as a ``scipy.sparse.csr_array`` over the same memory."""
        from scipy.sparse import csr_array

        return csr_array((self.data, self.indices, self.indptr), shape=self.shape)
