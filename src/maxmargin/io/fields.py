"""Fields and arrays of model files and checkpoints, for which nobody vouches: each is checked when it is taken.

Both hold histories of fits, which are written and read here as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats
from maxmargin.solvers.solution import Report

_HISTORY_COLUMNS = 8  # problem, solver, epoch, seconds, primal, dual, gap, active


class ModelFileError(ValueError):
    """A file that is not a whole, unchanged model file of a version this library knows.

    Examples
    --------
    >>> import tempfile
    >>> from maxmargin import load_model
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(b"not a model") or file.flush()
    ...     try:
    ...         load_model(file.name)
    ...     except ValueError as error:
    ...         print(type(error).__name__)
    ModelFileError
    """


def pack_history(histories: Sequence[Sequence[Report]], tensors: dict[str, NDArray[Any]]) -> list[str]:
    """Store the reports of each problem as arrays; the names of solvers, which these refer to, come back."""
    solvers = sorted({report.solver for history in histories for report in history})
    tensors["history"] = np.array(
        [
            (problem, solvers.index(report.solver), *report[1:7])
            for problem, history in enumerate(histories)
            for report in history
        ],
        dtype=np.float64,
    ).reshape(-1, _HISTORY_COLUMNS)
    # An array of its own, which earlier versions do not look for.
    tensors["history.check_seconds"] = np.array(
        [report.check_seconds for history in histories for report in history], dtype=np.float64
    )
    return solvers


class Fields:
    """The fields of a header and the arrays of a file, each checked when it is taken."""

    def __init__(self, header: Any, tensors: dict[str, NDArray[Any]]) -> None:
        if not isinstance(header, dict):
            raise ModelFileError("its header is not a JSON object")
        self.header: dict[str, Any] = header
        self.tensors = tensors

    def get(self, name: str, kind: type | tuple[type, ...], within: dict[str, Any] | None = None) -> Any:
        """A value of a certain type."""
        value = (self.header if within is None else within).get(name)
        # bool is an int to Python, but true is not a number here
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is int):
            raise ModelFileError(f"its header has no proper {name!r}")
        return value

    def texts(self, values: Any, name: str, size: int | None = None) -> list[str]:
        """A list of texts, of a certain length if given."""
        if (
            not isinstance(values, list)
            or not all(isinstance(value, str) for value in values)
            or size not in (None, len(values))
        ):
            raise ModelFileError(f"its header has no proper {name!r}")
        return values

    def array(self, name: str, shape: tuple[int | None, ...], *dtypes: str) -> NDArray[Any]:
        """An array of a certain shape, in which None is any size, and one of some types."""
        array = self.tensors.get(name)
        if array is None:
            raise ModelFileError(f"the array {name!r} is missing")
        fits = len(array.shape) == len(shape) and all(
            wanted in (None, size) for wanted, size in zip(shape, array.shape, strict=True)
        )
        if not fits or array.dtype.str not in dtypes:
            raise ModelFileError(f"the array {name!r} has the shape {array.shape} and type {array.dtype}, not {shape}")
        return array

    def count(self, name: str, within: dict[str, Any]) -> int:
        """A number of things."""
        value: int = self.get(name, int, within)
        if not 0 <= value < 1 << 62:
            raise ModelFileError(f"its header has no proper {name!r}")
        return value

    def counts(self, name: str, shape: tuple[int | None, ...]) -> NDArray[np.intp]:
        """An array of numbers of things."""
        array = self.array(name, shape, "<i8")
        if np.any(array < 0):
            raise ModelFileError(f"the array {name!r} has negative counts")
        return array.astype(np.intp)

    def finite(self, name: str, shape: tuple[int | None, ...]) -> Floats:
        """An array of finite numbers."""
        array = self.array(name, shape, "<f8")
        if not np.all(np.isfinite(array)):
            raise ModelFileError(f"the array {name!r} is not finite")
        return array

    def csr(self, name: str, shape: tuple[int, int]) -> Csr:
        """A sparse matrix of finite numbers."""
        data = self.finite(f"{name}.data", (None,))
        indices = self.array(f"{name}.indices", data.shape, "<i4", "<i8")
        indptr = self.array(f"{name}.indptr", (shape[0] + 1,), "<i8")
        proper = (
            indptr[0] == 0
            and indptr[-1] == len(data)
            and np.all(indptr[1:] >= indptr[:-1])
            and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < shape[1]))
        )
        if not proper:
            raise ModelFileError(f"the sparse array {name!r} points outside itself")
        return Csr(data, indices, indptr, shape)

    def history(self, problems: int, solvers: list[str]) -> list[list[Report]]:
        """The reports of each problem."""
        table = self.array("history", (None, _HISTORY_COLUMNS), "<f8")
        ranges = ((0, problems), (1, len(solvers)), (2, 2**53), (7, 2**53))
        for column, end in ranges:
            values = table[:, column]
            if not np.all((values >= 0) & (values < end) & (values == np.floor(values))):
                raise ModelFileError("the array 'history' is not a history")
        checks = np.zeros(len(table))
        if "history.check_seconds" in self.tensors:
            checks = self.array("history.check_seconds", (len(table),), "<f8")
        history: list[list[Report]] = [[] for _ in range(problems)]
        for (problem, solver, epoch, seconds, primal, dual, gap, active), check in zip(
            table.tolist(), checks.tolist(), strict=True
        ):
            history[int(problem)].append(
                Report(solvers[int(solver)], int(epoch), seconds, primal, dual, gap, int(active), check)
            )
        return history
