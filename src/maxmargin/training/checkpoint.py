"""Checkpoints of a training: its problems in one file, written at intervals, so that a killed process loses little.

The file belongs to one training: a fingerprint over the data, the weights of rows and what is minimised tells whether
it is the same. The method, the tolerance and the limits may be others when the training goes on.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
import warnings
from typing import Any

import numpy as np

from maxmargin.io.checkpoint_file import State, read_checkpoint, remove_unfinished, write_checkpoint
from maxmargin.io.files import PathLike
from maxmargin.problems.matrix import Matrix
from maxmargin.problems.one_class import OneClassProblem
from maxmargin.problems.ranking import RankingProblem
from maxmargin.problems.regression import RegressionProblem
from maxmargin.solvers.solution import Snapshot, Solution
from maxmargin.solvers.solve import solve

#: Seconds between two states that are kept, if nobody says otherwise.
INTERVAL = 60.0


class Checkpoint:
    """The file of one training, from which it goes on if the file is there already.

    Parameters
    ----------
    path : path
        The file. One that belongs to another training is replaced if that training has ended, and else refused.
    fingerprint : str
        Which training it is.
    problems : int
        How many problems the training has.
    interval : float, default=60.0
        Most seconds between two states that are kept (plus the time of an epoch).

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from maxmargin import BinaryProblem
    >>> from maxmargin.training.checkpoint import Checkpoint
    >>> problem = BinaryProblem(np.array([[1.0], [-1.0]]), [1, -1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoint = Checkpoint(f"{folder}/fit.ckpt", "abc", 1)
    ...     first = checkpoint.solve(0, problem, "dcd", tol=1e-6)
    ...     checkpoint.close()
    ...     again = Checkpoint(f"{folder}/fit.ckpt", "abc", 1).solve(0, problem, "dcd", tol=1e-6)
    >>> bool((again.weights == first.weights).all())
    True
    """

    def __init__(self, path: PathLike, fingerprint: str, problems: int, interval: float = INTERVAL) -> None:
        if not interval > 0:
            raise ValueError(f"checkpoint_interval must be positive, not {interval}")
        self.path = os.fspath(path)
        self.interval = interval
        self.lock = threading.Lock()
        self.state = State(fingerprint, [None] * problems)
        remove_unfinished(self.path)
        if os.path.exists(self.path):
            found = read_checkpoint(self.path)
            if found.fingerprint == fingerprint and len(found.problems) == problems:
                self.state = found
            elif not found.finished:
                raise ValueError(
                    f"{self.path}: this checkpoint belongs to a fit of other data or parameters that has not ended; "
                    "go on with that one, remove the file, or name another"
                )
        self._write()  # what cannot be written is to be told now and not after an hour of work

    def solve(self, task: int, problem: Any, solver: Any, *, start: Any = None, **options: Any) -> Solution:
        """Solve one of the problems, from where the file has it if it does."""
        known = self.state.problems[task]
        solution = solve(
            problem,
            solver,
            start=start if known is None else known,
            keep=lambda snapshot: self.keep(task, snapshot),
            keep_seconds=self.interval,
            **options,
        )
        ended = () if known is None else known.ended
        with self.lock:
            last = self.state.problems[task] or Snapshot(solution, {}, ended)
            self.state.problems[task] = Snapshot(solution, last.method, last.ended)
            self._write_when_due()
        return solution

    def keep(self, task: int, snapshot: Snapshot) -> None:
        """Take over the state of one of the problems."""
        with self.lock:
            self.state.problems[task] = snapshot
            self._write_when_due()

    def close(self) -> None:
        """The training has ended."""
        self._try_to_write()

    def _write_when_due(self) -> None:
        # Every problem keeps its state twice in an interval, and the file is as young as the last one of them.
        if time.perf_counter() - self.written >= self.interval / 2:
            self._try_to_write()

    def _try_to_write(self) -> None:
        try:
            self._write()
        except OSError as error:  # a full disk is no reason to lose the work
            self.written = time.perf_counter()
            warnings.warn(f"the checkpoint could not be written, and the fit goes on: {error}", stacklevel=2)

    def _write(self) -> None:
        write_checkpoint(self.state, self.path)
        self.written = time.perf_counter()


def solve_one(
    problem: RankingProblem | RegressionProblem | OneClassProblem,
    solver: Any,
    *,
    checkpoint: PathLike | None = None,
    checkpoint_interval: float = INTERVAL,
    **options: Any,
) -> Solution:
    """Solve the one problem of a training, with a checkpoint if a file is named; ``options`` are those of ``solve``.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import RankingProblem
    >>> from maxmargin.training.checkpoint import solve_one
    >>> solve_one(RankingProblem(np.array([[0.0], [1.0], [3.0]]), [1, 2, 3]), "auto").converged
    True
    """
    if checkpoint is None:
        return solve(problem, solver, **options)
    saved = Checkpoint(checkpoint, fingerprint(problem.matrix, *problem.identity()), 1, checkpoint_interval)
    solution = saved.solve(0, problem, solver, **options)
    saved.close()
    return solution


def fingerprint(X: Any, *others: Any) -> str:
    """A name for a training: the SHA-256 sum of its rows and of all else that decides what is minimised.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.training.checkpoint import fingerprint
    >>> fingerprint(np.eye(2), "hinge", 1.0) == fingerprint(np.eye(2), "hinge", 2.0)
    False
    """
    total = hashlib.sha256()
    rows = Matrix.of(X).X
    arrays = [rows] if isinstance(rows, np.ndarray) else [rows.data, rows.indices, rows.indptr]
    total.update(repr(tuple(rows.shape)).encode())
    for value in [*arrays, *others]:
        if isinstance(value, np.ndarray) and value.dtype != object:
            total.update(f"{value.dtype.str} {value.shape}".encode())
            total.update(np.ascontiguousarray(value).view(np.uint8).data if value.size else b"")
        elif isinstance(value, np.ndarray):
            total.update(repr(value.tolist()).encode())
        else:
            total.update(repr(value).encode())
        total.update(b"\0")
    return total.hexdigest()
