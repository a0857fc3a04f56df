"""What items get to work with: the mode, the data, runs that several figures share, and a voice."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.reproduce.data import Found, find

#: Rows that are used in quick mode, of data sets with two and with more classes.
QUICK_ROWS, QUICK_CLASS_ROWS = 6_000, 3_000


class Context:
    """One run of the reproduction.

    Parameters
    ----------
    folder : Path
        Where results are kept.
    quick : bool
        Minutes instead of hours: parts of the data, and short limits.
    say : callable
        Called with a few words about what is going on.
    """

    def __init__(self, folder: Path, quick: bool, say: Callable[[str], None] = lambda _: None) -> None:
        self.folder, self.quick, self.say = folder, quick, say
        #: Sets and programs that are missing, and what was used instead.
        self.missing: dict[str, str] = {}
        #: Programs that the claim is about and that are not installed.
        self.absent: set[str] = set()
        #: Of series of runs, the rows and values of C at which a limit was met.
        self.stopped: dict[str, list[tuple[int, float]]] = {}
        #: Seconds that the runs in use have taken, whenever they were made.
        self.worked = 0.0

    def pick(self, quick: Any, full: Any) -> Any:
        """One of two settings, by the mode."""
        return quick if self.quick else full

    def limit(self, of: tuple[float, float]) -> float:
        """One of `limits`, in seconds, by the mode."""
        return float(self.pick(*of))

    def data(self, name: str, two_classes: bool = True) -> Found | None:
        """A data set or its stand-in, in quick mode a random part of it; what is missing is noted."""
        found = find(name, two_classes)
        if found is None:
            self.missing[name] = "nothing"
            return None
        if not found.own:
            self.missing[name] = found.used
        most = QUICK_ROWS if two_classes else QUICK_CLASS_ROWS
        if self.quick and len(found.y) > most:
            taken = np.sort(np.random.default_rng(0).permutation(len(found.y))[:most])
            found = replace(found, X=found.X[taken], y=found.y[taken])
            if found.X_test is not None and found.y_test is not None:
                found = replace(found, X_test=found.X_test[: most // 4], y_test=found.y_test[: most // 4])
        return found

    def several(self, names: list[str], two_classes: bool = True) -> list[Found]:
        """Data sets, each stand-in once, for the first that it stands for."""
        found = [self.data(name, two_classes) for name in names]
        return list({each.used: each for each in reversed(found) if each is not None}.values())[::-1]

    def lacks(self, program: str) -> None:
        """Note a program of the paper's comparison that is not installed."""
        self.absent.add(program)
        self.missing[program] = "nothing"

    def own(self, found: Found) -> bool:
        """Whether it is the paper's data in full."""
        return found.own and not self.quick

    def once(self, key: str, make: Callable[[], Any]) -> Any:
        """What ``make`` returns, as plain data; kept on disk, for other items and for the next time."""
        path = self.folder / "runs" / f"{re.sub(r'[^A-Za-z0-9_.=-]+', '-', key)}.json"
        if path.is_file():
            kept = json.loads(path.read_text())
        else:
            self.say(key)
            start = time.perf_counter()
            made = make()
            kept = {"seconds": time.perf_counter() - start, "made": made}
            path.parent.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(".part")
            part.write_text(json.dumps(kept))
            part.replace(path)
        self.worked += kept["seconds"]
        return kept["made"]


def split(found: Found, test_size: float = 0.2) -> tuple[sp.csr_matrix, np.ndarray, sp.csr_matrix, np.ndarray]:
    """Rows for training and for testing, a fifth or so many, each class in proportion."""
    from sklearn.model_selection import train_test_split

    few = np.unique(found.y, return_counts=True)[1].min() < 2  # a class of one row has no proportion
    X, X_test, y, y_test = train_test_split(
        found.X, found.y, test_size=test_size, stratify=None if few else found.y, random_state=0
    )
    return X, y, X_test, y_test


def normalised(X: sp.csr_matrix) -> sp.csr_matrix:
    """Rows of norm 1; those of zeros as they are."""
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1 / np.where(norms > 0, norms, 1.0)) @ X)
