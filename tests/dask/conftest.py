"""A real cluster of processes on this machine, shared by the tests of this folder."""

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from dask.distributed import Client, LocalCluster

from ..conftest import random_problem


@pytest.fixture(scope="package")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
        yield cluster


@pytest.fixture(scope="package")
def client(cluster):
    with Client(cluster) as client:
        yield client


def distribute(X, y, chunk, weight=None):
    """Rows and what lies beside them as dask arrays in blocks of some rows; sparse blocks if X is sparse."""
    rows = da.from_array(X, chunks=(chunk, -1)) if isinstance(X, np.ndarray) else sparse_array(X, chunk)
    beside = [None if values is None else da.from_array(values, chunks=chunk) for values in (y, weight)]
    return rows, *beside


def sparse_array(X, chunk):
    pieces = [
        da.from_delayed(dask.delayed(X[a : a + chunk]), shape=X[a : a + chunk].shape, dtype=X.dtype, meta=X[:0])
        for a in range(0, X.shape[0], chunk)
    ]
    return da.concatenate(pieces, axis=0)


@pytest.fixture(scope="session")
def text():
    """Sparse rows with more features than Newton's matrix takes, and labels."""
    X, y = random_problem(rows=240, features=1300, seed=7, density=0.02)
    return sp.csr_matrix(X), y
