"""The papers' data sets by their public names: where they come from, and what stands in for those that cannot be had.

A set is looked for in the folder of `benchmarks.datasets`, in scikit-learn's own, in the cache, and, if downloads are
allowed (``MAXMARGIN_DOWNLOAD=1``), on LIBSVM's page, OpenML, or where scikit-learn has RCV1. The cache is
``$MAXMARGIN_CACHE``, else ``~/.cache/maxmargin``; ``CHECKSUMS.json`` there holds the SHA-256 of each file when it was
first fetched, and a file that no longer has it is refused. What is not found, or cannot be fetched, is replaced by its
stand-in, which results always name.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks import datasets

LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"


@dataclass(frozen=True)
class Source:
    """Where a set is public, the name of its file in the folder of data, and its stand-in."""

    libsvm: str | None = None
    openml: int | None = None
    file: str | None = None
    stand_in: str | None = None
    #: Of a set with several classes, those that are +1 in a problem of two.
    positive: tuple[int, ...] = ()
    #: Its test rows on LIBSVM's page, and the category of RCV1 that is +1.
    test: str | None = None
    rcv1: str | None = None
    #: What makes public values those of the folder of data: a divisor, and columns from 0 to 1.
    divisor: float = 1.0
    scaled: bool = False


SOURCES = {
    "a9a": Source("binary/a9a", file="a9a"),
    "w8a": Source("binary/w8a", file="w8a"),
    "real-sim": Source("binary/real-sim.bz2", openml=1578, stand_in="imdb"),
    "news20.binary": Source("binary/news20.binary.bz2", openml=1594, stand_in="20ng.bigram"),
    "rcv1.binary": Source("binary/rcv1_test.binary.bz2", openml=1577, stand_in="blogs150k"),
    "astro-physic": Source(stand_in="imdb"),
    "yahoo-japan": Source(stand_in="blogs150k"),
    "yahoo-korea": Source(stand_in="blogs150k"),
    "covtype": Source("multiclass/covtype.scale01.bz2", openml=1596, file="covtype", positive=(2,), scaled=True),
    "covtype1": Source("multiclass/covtype.scale01.bz2", openml=1596, file="covtype", positive=(1,), scaled=True),
    "kdda": Source("binary/kdda.bz2"),
    "kddb": Source("binary/kddb.bz2"),
    "url": Source("binary/url_combined.bz2"),
    "news20": Source("multiclass/news20.bz2", test="multiclass/news20.t.bz2", file="news20"),
    "sector": Source("multiclass/sector/sector.scale.bz2", test="multiclass/sector/sector.t.scale.bz2", stand_in="r52"),
    "mnist": Source("multiclass/mnist.bz2", test="multiclass/mnist.t.bz2", openml=554, file="mnist", divisor=255.0),
    "rcv1.multiclass": Source(
        "multiclass/rcv1_train.multiclass.bz2", test="multiclass/rcv1_test.multiclass.bz2", stand_in="ohsumed23"
    ),
    "ccat": Source(rcv1="CCAT", stand_in="blogs150k"),
    "c11": Source(rcv1="C11"),
    "kdd04-physics": Source(stand_in="ijcnn1"),
    "imdb": Source(file="imdb"),
    "20ng.bigram": Source(file="20ng.bigram"),
    "blogs150k": Source(file="blogs150k"),
    "r52": Source(file="r52"),
    "ohsumed23": Source(file="ohsumed23"),
    "ijcnn1": Source("binary/ijcnn1.bz2", file="ijcnn1"),
    "digits": Source(),
    "breast_cancer": Source(),
}


@dataclass(frozen=True)
class Found:
    """A data set, and whether it is what was asked for."""

    name: str
    used: str
    X: sp.csr_matrix
    y: np.ndarray
    #: Its own test rows, of sets with several classes, where they are there.
    X_test: sp.csr_matrix | None = None
    y_test: np.ndarray | None = None

    @property
    def own(self) -> bool:
        """Whether it is the paper's and not a stand-in."""
        return self.name == self.used

    @property
    def label(self) -> str:
        """Its name, and that of its stand-in."""
        return self.name if self.own else f"{self.used} (for {self.name})"


def find(name: str, two_classes: bool) -> Found | None:
    """A set or its stand-in as float64; labels are -1 and +1, or class numbers from 0 on. None if neither is there."""
    for used in (name, SOURCES[name].stand_in):
        raw = None if used is None else _load(used)
        if raw is not None and used is not None:
            X, y = raw
            X.sort_indices()
            return Found(name, used, X, _signs(used, y)) if two_classes else _with_classes(name, used, X, y)
    return None


def _load(name: str) -> tuple[sp.csr_matrix, np.ndarray] | None:
    source = SOURCES[name]
    if source.file is not None:
        found = datasets.load(source.file, "float64")
        if found is not None:
            return found
    if name in ("digits", "breast_cancer"):
        from sklearn import datasets as bundled

        X, y = getattr(bundled, f"load_{name}")(return_X_y=True)
        return sp.csr_matrix(X / np.abs(X).max(axis=0).clip(1e-300)), y
    return _cached(source)


def _with_classes(name: str, used: str, X: sp.csr_matrix, y: np.ndarray) -> Found:
    """Class numbers from 0 on, and the set's own test rows."""
    classes, y = np.unique(y, return_inverse=True)
    more = _load_test(used)
    if more is None:
        return Found(name, used, X, y)
    known = np.isin(more[1], classes)
    X_test, y_test = more[0][known], np.searchsorted(classes, more[1][known])
    # Files of text end with the last feature that occurs.
    width = max(X.shape[1], X_test.shape[1])
    X, X_test = (sp.csr_matrix((part.data, part.indices, part.indptr), (part.shape[0], width)) for part in (X, X_test))
    X_test.sort_indices()
    return Found(name, used, X, y, X_test, y_test)


def _load_test(name: str) -> tuple[sp.csr_matrix, np.ndarray] | None:
    source = SOURCES[name]
    found = None if source.file is None else datasets.load(f"{source.file}.t", "float64")
    return found or _cached(Source(source.test, divisor=source.divisor))


def _signs(name: str, y: np.ndarray) -> np.ndarray:
    positive = SOURCES[name].positive
    if name == "digits":
        positive = (5, 6, 7, 8, 9)
    classes = np.unique(y)
    chosen = np.isin(y, positive) if positive else np.isin(y, classes[len(classes) // 2 :])
    return np.where(chosen, 1, -1).astype(np.int8)


def cache_folder() -> Path:
    """Where downloads are kept."""
    return Path(os.environ.get("MAXMARGIN_CACHE") or Path.home() / ".cache" / "maxmargin")


def _cached(source: Source) -> tuple[sp.csr_matrix, np.ndarray] | None:
    """From the cache or its public place, with the values that the copy in the folder of data has."""
    found = _from_libsvm(source.libsvm) or _from_openml(source.openml) or _from_rcv1(source.rcv1)
    if found is None:
        return None
    X = sp.csr_matrix(found[0], dtype=np.float64) / source.divisor
    return (_scaled(X) if source.scaled else X), found[1]


def _from_libsvm(name: str | None) -> tuple[sp.csr_matrix, np.ndarray] | None:
    if name is None:
        return None
    path = cache_folder() / name.replace("/", "-")
    if not path.is_file() and not _download(f"{LIBSVM}/{name}", path):
        return None
    check_sum(path)
    from maxmargin import load_svmlight

    X, y = load_svmlight(path)
    return X, y


def _from_openml(number: int | None) -> tuple[sp.csr_matrix, np.ndarray] | None:
    if number is None or not _may_download():
        return None
    from sklearn.datasets import fetch_openml

    found = _fetched(
        f"OpenML {number}",
        lambda: fetch_openml(data_id=number, return_X_y=True, as_frame=False, data_home=str(cache_folder())),
    )
    return None if found is None else (found[0], numbers(found[1]))


def _from_rcv1(category: str | None) -> tuple[sp.csr_matrix, np.ndarray] | None:
    """All 804,414 rows of RCV1, and whether they are of a category."""
    if category is None or not _may_download():
        return None
    from sklearn.datasets import fetch_rcv1

    found = _fetched("RCV1", lambda: fetch_rcv1(data_home=str(cache_folder())))
    if found is None:
        return None
    place = list(found.target_names).index(category)
    return found.data, found.target[:, [place]].toarray().ravel().astype(np.float64)


def _fetched(what: str, fetch: Callable[[], Any]) -> Any:
    """What scikit-learn downloads; None, and a word about it, where that fails."""
    try:
        return fetch()
    except (OSError, ValueError, HTTPException) as error:  # OpenML answers what it refuses with ValueError
        print(f"{what}: {error}", file=sys.stderr)
        return None


def numbers(y: np.ndarray) -> np.ndarray:
    """Labels as numbers, which OpenML has as text: "1" to "7" are 1 to 7; other words are numbered from 0 on."""
    try:
        return np.asarray(y).astype(np.float64)
    except ValueError:
        return np.unique(y, return_inverse=True)[1]


def _scaled(X: sp.csr_matrix) -> sp.csr_matrix:
    """Each column from 0 to 1."""
    dense = X.toarray()
    low = dense.min(axis=0)
    extent = dense.max(axis=0) - low
    return sp.csr_matrix((dense - low) / np.where(extent > 0, extent, 1.0))


def _may_download() -> bool:
    return os.environ.get("MAXMARGIN_DOWNLOAD", "") not in ("", "0")


def _download(url: str, path: Path) -> bool:
    if not _may_download():
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        urllib.request.urlretrieve(url, part)
    except (OSError, HTTPException) as error:
        print(f"{url}: {error}", file=sys.stderr)
        return False
    part.replace(path)
    return True


def check_sum(path: Path) -> None:
    """Note the SHA-256 of a file in the cache, or compare it with the one that was noted."""
    book = path.parent / "CHECKSUMS.json"
    known = json.loads(book.read_text()) if book.is_file() else {}
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if known.setdefault(path.name, digest.hexdigest()) != digest.hexdigest():
        raise ValueError(f"{path}: its SHA-256 is {digest.hexdigest()}, not {known[path.name]}; remove it to fetch it")
    book.write_text(json.dumps(known, indent=1, sort_keys=True))
