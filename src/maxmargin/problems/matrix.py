"""A matrix that is checked once: rows that lie where the user has them, and their norms.

Classes, folds, values of C and scoring share one `Matrix`, so that nobody checks or measures it again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.problems.csr import Csr


class Matrix:
    """A matrix to train on or to score, used where it lies: never copied, unless its numbers are not `aligned`.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (rows, features)
        float32 or float64, CSR or C-ordered dense, read-only or not. ``TypeError`` for anything that could only be used
        through a copy.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import BinaryProblem, Matrix
    >>> X = Matrix(np.array([[1.0], [-1.0]]))
    >>> problems = [BinaryProblem(X, [1, -1], C) for C in (0.1, 1.0)]
    >>> problems[0].matrix is problems[1].matrix
    True
    """

    #: How many problems are going to be solved over it: what they can share pays the sooner.
    problems: int = 1
    #: Whether memory allows a packed copy of it, once that has been asked; the same for all problems.
    fits: bool | None = None

    def __init__(self, X: Any) -> None:
        self.X = aligned(X)
        self.rows = _rows_of(self.X)

    @classmethod
    def of(cls, X: Any) -> Matrix:
        """``X`` itself if it is a `Matrix` already."""
        return X if isinstance(X, cls) else cls(X)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.X.shape[0], self.X.shape[1]

    @property
    def is_sparse(self) -> bool:
        """Whether it holds CSR rows."""
        return not isinstance(self.X, np.ndarray)

    @property
    def stored(self) -> int:
        """Stored values."""
        return self.rows.stored()

    def mean_squared_norm(self) -> float:
        """The mean of ``|x_i|^2``; norms are computed when first needed, and with them NaN and infinity are found."""
        return self.rows.mean_squared_norm()

    def lengths(self, bias: float = 0.0) -> np.ndarray[Any, np.dtype[np.float64]]:
        """``|x_i|`` of rows with a constant column of this value."""
        return np.asarray(np.sqrt(self.rows.squared_norms() + bias**2))

    def scores(
        self, coef: np.ndarray[Any, np.dtype[np.float64]], intercept: Any, rows: Any = None, threads: int = 1
    ) -> Any:
        """``X @ coef.T + intercept``, one column per row of ``coef``, for all rows or for some by their numbers.

        Fastest where ``coef`` is in Fortran order.
        """
        wanted = None if rows is None else np.ascontiguousarray(rows, dtype=np.int64)
        return _core.score(self.rows, np.ascontiguousarray(coef.T), np.ascontiguousarray(intercept), wanted, threads)


def aligned(X: Any) -> Any:
    """Rows whose numbers begin at multiples of their size, those of a CSR matrix side by side; copied if they do not.

    Parameters
    ----------
    X : ndarray or CSR matrix
        Rows; anything else is returned as it is.

    Returns
    -------
    ndarray or CSR matrix
        ``X`` itself where nothing is to be done.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.problems.matrix import aligned
    >>> odd = np.frombuffer(bytes(17), dtype=np.float64, count=2, offset=1).reshape(1, 2)
    >>> odd.flags.aligned, aligned(odd).flags.aligned
    (False, True)
    """
    if isinstance(X, np.ndarray):
        return np.require(X, requirements="A")
    arrays = [getattr(X, name, None) for name in ("data", "indices", "indptr")]
    if all(not isinstance(array, np.ndarray) or (array.flags.aligned and array.flags.c_contiguous) for array in arrays):
        return X
    data, indices, indptr = (np.require(array, requirements=["C", "A"]) for array in arrays)
    return Csr(data, indices, indptr, X.shape) if isinstance(X, Csr) else type(X)((data, indices, indptr), X.shape)


def _rows_of(X: Any) -> _core.Rows:
    if (
        all(hasattr(X, name) for name in ("data", "indices", "indptr", "shape"))
        and getattr(X, "format", "csr") == "csr"
    ):
        if X.data.dtype not in (np.float32, np.float64):
            raise TypeError(
                f"the values of X must be float32 or float64, not {X.data.dtype}: convert with X.astype(...)"
            )
        if X.indptr.shape[0] != X.shape[0] + 1:
            raise ValueError(f"X has {X.shape[0]} rows but {X.indptr.shape[0]} row pointers; expected rows + 1")
        if X.data.shape != X.indices.shape:
            raise ValueError(f"X stores {X.data.shape[0]} values but {X.indices.shape[0]} column indices")
        return _core.Rows.csr(X.data, X.indices, X.indptr, X.shape[1])
    if isinstance(X, np.ndarray):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, not {X.ndim}")
        if X.dtype not in (np.float32, np.float64):
            raise TypeError(f"X must be float32 or float64, not {X.dtype}: convert with X.astype(...)")
        if not X.flags.c_contiguous:
            raise TypeError("X must be C-ordered (rows contiguous): convert with numpy.ascontiguousarray(X)")
        return _core.Rows.dense(X)
    kind = getattr(X, "format", None) or type(X).__name__
    raise TypeError(f"X must be a numpy array or a CSR matrix, not {kind}: convert with X.tocsr() or numpy.asarray(X)")
