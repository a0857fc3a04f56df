"""What a command says: a table at the end on standard output, progress on standard error, or JSON for machines."""

from __future__ import annotations

import json
import math
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

import click

from maxmargin.solvers.solution import Report, share_done

#: Seconds before a progress bar appears, and between plain lines: what is over by then needs none.
PATIENCE = 0.5


class Output:
    """Where a command's words go.

    Parameters
    ----------
    quiet : bool
        Say nothing but errors.
    as_json : bool
        Print the results as one JSON object, and nothing else.
    """

    def __init__(self, quiet: bool, as_json: bool) -> None:
        self.as_json = as_json
        self.talks = not quiet and not as_json
        self.quiet = quiet
        self.on_terminal = self.talks and sys.stderr.isatty()
        self.notes: list[str] = []

    def say(self, text: str) -> None:
        """A line about what is going on."""
        if self.talks:
            click.echo(text, err=True)

    def note(self, text: str) -> None:
        """Something the user should know but that stops nothing."""
        self.notes.append(text)
        self.say(f"note: {text}")

    def results(self, fields: dict[str, Any], lines: Iterable[str], *, err: bool = False) -> None:
        """The results, as JSON or as text; the lines are made only if they are wanted."""
        if self.as_json:
            click.echo(json.dumps(_plain({**fields, "notes": self.notes}), allow_nan=False), err=err)
        elif self.talks:
            for line in lines:
                click.echo(line, err=err)


def _plain(value: Any) -> Any:
    """What JSON knows: no numpy, and null for numbers that are not finite."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def pairs(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Two columns: what, and how much."""
    listed = list(rows)
    width = max(len(head) for head, _ in listed)
    return [f"{head:<{width}}   {text}" for head, text in listed]


def table(heads: list[str], rows: list[list[str]]) -> list[str]:
    """Columns with heads, the first to the left and the others to the right."""
    widths = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]

    def line(cells: list[str]) -> str:
        first = f"{cells[0]:<{widths[0]}}"
        return "   ".join([first, *(f"{c:>{w}}" for c, w in zip(cells[1:], widths[1:], strict=True))]).rstrip()

    return [line(heads), *map(line, rows)]


def seconds(value: float) -> str:
    """A time with three digits."""
    return f"{value:.3g} s" if value < 1000 else f"{value:.0f} s"


class Bar:
    """A progress bar (rich) on a terminal, sparse lines elsewhere, nothing when a command is not to talk."""

    def __init__(self, output: Output, title: str) -> None:
        self.output = output
        self.title = title
        self.start = self.last = time.perf_counter()
        self.progress: Any = None
        self.task: Any = None
        self.lock = threading.Lock()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self.progress is not None:
            self.progress.stop()

    def show(self, share: float | None, text: str) -> None:
        """Tell how far it is, from 0 to 1 if that is known."""
        if not self.output.talks:
            return
        with self.lock:
            now = time.perf_counter()
            if self.progress is None and now - self.last < PATIENCE:
                return
            self.last = now
            if not self.output.on_terminal:
                done = "" if share is None else f"{100 * share:3.0f} %  "
                click.echo(f"{self.title}  {now - self.start:6.1f} s  {done}{text}", err=True)
                return
            if self.progress is None:
                self._open()
            self.progress.update(self.task, completed=share or 0.0, total=None if share is None else 1.0, text=text)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[text]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self.task = self.progress.add_task(self.title, total=1.0, text="")
        self.progress.start()


class TrainingBar:
    """Listeners of binary problems that share one bar."""

    def __init__(self, bar: Bar, problems: int, tol: float) -> None:
        self.bar = bar
        self.tol = tol
        self.shares = [0.0] * problems
        self.listeners = [_Listener(self, k) for k in range(problems)]

    def report(self, problem: int, share: float, report: Report) -> None:
        """One report of one problem."""
        self.shares[problem] = max(self.shares[problem], share)
        which = f"class {problem + 1} of {len(self.shares)}, " if len(self.shares) > 1 else ""
        self.bar.show(
            sum(self.shares) / len(self.shares),
            f"{which}{report.solver} epoch {report.epoch}, objective {report.primal:.6g}, gap {max(report.gap, 0):.1e}",
        )


class _Listener:
    listens = True

    def __init__(self, parent: TrainingBar, problem: int) -> None:
        self.parent = parent
        self.problem = problem
        self.first_gap: float | None = None

    def begin(self) -> None:
        pass

    def report(self, report: Report, _: Any) -> bool | None:
        if self.first_gap is None:
            self.first_gap = report.gap
        self.parent.report(self.problem, share_done(self.first_gap, report.gap, self.parent.tol), report)
        return None

    def end(self) -> None:
        self.parent.shares[self.problem] = 1.0
