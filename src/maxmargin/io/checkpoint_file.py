"""Checkpoint files: the state of a training that is under way, sealed like a model and written whole or not at all.

A file holds for each problem what was found so far (weights, dual variables, points of cuts, history), how the stages
of its method ended, and the fingerprint of the data and of what is minimised. Values that a file claims are never
believed: whoever continues computes them anew from weights and variables.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.fields import Fields, ModelFileError, pack_history
from maxmargin.io.files import PathLike, atomic_write
from maxmargin.io.sealed import SealError, seal, unseal
from maxmargin.problems.certificate import Certificate
from maxmargin.problems.csr import Csr
from maxmargin.solvers.method import Exit
from maxmargin.solvers.solution import EXITS, Snapshot, Solution

ENTRY = "maxmargin-checkpoint"
FORMAT = 1
#: How a stage may have ended.
ENDS = {exit_.name.lower() for exit_ in Exit}


class State(NamedTuple):
    """What a checkpoint file holds: which training it belongs to, and how far each of its problems has come."""

    fingerprint: str
    problems: list[Snapshot | None]

    @property
    def finished(self) -> bool:
        """Whether every problem reached the tolerance it was asked for."""
        return all(problem is not None and problem.solution.converged for problem in self.problems)


def write_checkpoint(state: State, path: PathLike) -> None:
    """Write a state whole, or leave a file of that name as it was."""
    contents = to_bytes(state)
    with atomic_write(path, os.path.basename(path)) as file:
        file.write(contents)


def remove_unfinished(path: PathLike) -> None:
    """Remove what a killed process may have left of a checkpoint that it was writing."""
    folder = os.path.dirname(os.path.realpath(path))
    for name in glob.glob(f".{glob.escape(os.path.basename(path))}-*.part", root_dir=folder):
        with suppress(OSError):
            os.unlink(os.path.join(folder, name))


def read_checkpoint(path: PathLike) -> State:
    """The state in a file; ``ValueError`` with its name if there is any doubt about it."""
    with open(path, "rb") as file:
        contents = file.read()
    try:
        return from_bytes(contents)
    except (SealError, ModelFileError) as error:
        raise ValueError(f"{path}: {error}") from error.__cause__


def to_bytes(state: State) -> bytes:
    """A state as the contents of a file."""
    tensors: dict[str, NDArray[Any]] = {}
    histories = [() if problem is None else problem.solution.history for problem in state.problems]
    header = {
        "format": FORMAT,
        "fingerprint": state.fingerprint,
        "history_solvers": pack_history(histories, tensors),
        "problems": [
            None if problem is None else _pack(problem, f"{number}.", tensors)
            for number, problem in enumerate(state.problems)
        ],
    }
    return seal(ENTRY, header, tensors)


def _pack(problem: Snapshot, name: str, tensors: dict[str, NDArray[Any]]) -> dict[str, Any]:
    solution = problem.solution
    tensors[f"{name}weights"] = solution.weights
    shape = None
    if isinstance(solution.alpha, Csr):
        shape = list(solution.alpha.shape)
        for part in ("data", "indices", "indptr"):
            tensors[f"{name}alpha.{part}"] = np.asarray(getattr(solution.alpha, part))
    else:
        tensors[f"{name}alpha"] = solution.alpha
    if solution.points is not None:
        tensors[f"{name}points"] = solution.points
    return {
        "method": problem.method,
        "ended": list(problem.ended),
        "exit": solution.exit,
        "n_iter": solution.n_iter,
        "solver": solution.solver,
        "seconds": solution.seconds,
        "check_seconds": solution.check_seconds,
        "primal": solution.certificate.primal,
        "dual": solution.certificate.dual,
        "alpha": shape,
        "points": solution.points is not None,
    }


def from_bytes(contents: bytes) -> State:
    """The inverse of `to_bytes`, for bytes nobody vouches for."""
    header, tensors = unseal(contents, ENTRY, "checkpoint")
    fields = _CheckpointFields(header, tensors)
    version = fields.get("format", int)
    if version != FORMAT:
        raise ModelFileError(f"it has format version {version}, and this library knows {FORMAT} only")
    return fields.state()


class _CheckpointFields(Fields):
    """The fields of a checkpoint, each checked when it is taken."""

    def state(self) -> State:
        entries: list[Any] = self.get("problems", list)
        if not 1 <= len(entries) < 1 << 32 or not all(entry is None or isinstance(entry, dict) for entry in entries):
            raise ModelFileError("its header has no proper 'problems'")
        histories = self.history(len(entries), self.texts(self.header.get("history_solvers"), "history_solvers"))
        problems = [
            None if entry is None else self.problem(entry, f"{number}.", histories[number])
            for number, entry in enumerate(entries)
        ]
        return State(self.get("fingerprint", str), problems)

    def problem(self, entry: dict[str, Any], name: str, history: Sequence[Any]) -> Snapshot:
        ended = self.texts(entry.get("ended"), "ended")
        exit_ = self.get("exit", str, entry)
        if not set(ended) <= ENDS or exit_ not in EXITS:
            raise ModelFileError("its header has no proper 'ended'")
        weights = self.tensors.get(f"{name}weights")
        if weights is None or weights.ndim not in (1, 2) or weights.shape[-1] < 2:
            raise ModelFileError("it has no proper weights")
        shape = entry.get("alpha")
        alpha: Any
        if shape is None:
            alpha = self.finite(f"{name}alpha", (None,))
        else:
            if not isinstance(shape, list) or len(shape) != 2 or not all(type(n) is int and n > 0 for n in shape):
                raise ModelFileError("its header has no proper 'alpha'")
            alpha = self.csr(f"{name}alpha", (shape[0], shape[1]))
        return Snapshot(
            Solution(
                weights=self.finite(f"{name}weights", weights.shape),
                alpha=alpha,
                certificate=Certificate(self.number("primal", entry), self.number("dual", entry)),
                exit=exit_,
                n_iter=self.count("n_iter", entry),
                solver=self.get("solver", str, entry),
                seconds=self.number("seconds", entry),
                check_seconds=self.number("check_seconds", entry),
                history=list(history),
                points=self.finite(f"{name}points", (None, None)) if entry.get("points") is True else None,
            ),
            self.get("method", dict, entry),
            tuple(ended),
        )

    def number(self, name: str, within: dict[str, Any]) -> float:
        return float(self.get(name, (int, float), within))
