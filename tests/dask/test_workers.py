"""The result depends on the blocks, not on the workers: their number, or whether they are killed by signal."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import dask.array as da
import numpy as np
import pytest
from dask.distributed import Client, LocalCluster

from maxmargin.dask import LinearSVC, LinearSVR
from maxmargin.dask.cluster import DaskBlocks

from ..conftest import random_problem
from .conftest import distribute


def fits(text):
    """One fit for each method: the weights it finds, by name."""
    X, y = random_problem(rows=120, features=6, seed=1)
    dX, dy, _ = distribute(X, y, 30)
    classes = da.from_array(np.arange(120) % 3, chunks=30)
    sparse, labels, _ = distribute(*text, 60)
    return {
        "newton": lambda: LinearSVC("hinge", tol=0.05).fit(dX, dy),
        "newton by products": lambda: LinearSVC().fit(sparse, labels),
        "dcd": lambda: LinearSVC("hinge", tol=0.1).fit(sparse, labels),
        "several classes": lambda: LinearSVC().fit(dX, classes),
        "regression": lambda: LinearSVR("squared_epsilon_insensitive", epsilon=0.1).fit(dX, dX[:, 0] * 3.0),
    }


def bits(model):
    return [np.asarray(part).tobytes() for part in (model.coef_, model.intercept_, model.dual_objective_)]


def kill_a_worker(cluster, which):
    """SIGKILL to the process of a worker; its nanny starts a new one."""
    nannies = [nanny for nanny in cluster.workers.values() if nanny.pid]
    os.kill(nannies[which % len(nannies)].pid, signal.SIGKILL)


@pytest.fixture
def own_cluster():
    options = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 60}
    with LocalCluster(n_workers=4, **options) as cluster, Client(cluster):
        yield cluster


def test_bits_are_the_same_with_four_two_and_one_worker_and_after_kills(own_cluster, text, monkeypatch):
    own_cluster.wait_for_workers(4)
    expected = {name: bits(fit()) for name, fit in fits(text).items()}
    for count in (2, 1):
        own_cluster.scale(count)
        while len(own_cluster.scheduler_info["workers"]) > count:
            time.sleep(0.05)
        assert {name: bits(fit()) for name, fit in fits(text).items()} == expected

    # Kills while the tasks of a round are under way, and a worker that joins late.
    rounds: list[int] = []
    original = DaskBlocks._sum

    def killing(self, level):
        rounds.append(1)
        if len(rounds) == when:
            time.sleep(0.005 * when)
            kill_a_worker(own_cluster, when)
        if len(rounds) == 2 and when == 7:
            own_cluster.scale(2)
        return original(self, level)

    monkeypatch.setattr(DaskBlocks, "_sum", killing)
    for when, (name, fit) in zip((4, 7, 9, 6, 5), fits(text).items(), strict=True):
        rounds.clear()
        assert bits(fit()) == expected[name], name
        assert len(rounds) >= when, f"{name} ended before a worker was killed"


def test_ctrl_c_leaves_nothing_running_on_the_cluster(client):
    X, y = random_problem(rows=120, features=6, seed=2)
    dX, dy, _ = distribute(X, y, 20)
    model = LinearSVC("hinge", tol=0.0, max_iter=100_000)
    threading.Timer(1.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

    def fit_again_and_again():  # one fit of so small a problem may end before the signal
        while True:
            model.fit(dX, dy)

    with pytest.raises(KeyboardInterrupt):
        fit_again_and_again()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and any(client.processing().values()):
        time.sleep(0.05)
    assert not any(client.processing().values())
    while time.monotonic() < deadline and any(
        "maxmargin" in str(key) for keys in client.has_what().values() for key in keys
    ):
        time.sleep(0.05)
    assert not [key for keys in client.has_what().values() for key in keys if "maxmargin" in str(key)]
    assert LinearSVC().fit(dX, dy).converged_


def test_a_scheduler_that_goes_away_is_an_error_that_says_so():
    program = """
        import dask.array as da, numpy as np, threading, time
        from dask.distributed import Client, LocalCluster
        import dask
        from maxmargin.dask import LinearSVC
        from maxmargin.dask.cluster import ClusterError, DaskBlocks

        dask.config.set({"distributed.comm.timeouts.connect": "1s", "distributed.deploy.lost-worker-timeout": "1s"})
        cluster = LocalCluster(n_workers=1, processes=False, dashboard_address=":0", silence_logs=60)
        client = Client(cluster.scheduler_address, timeout="2s")
        original = DaskBlocks._sum
        def closing(self, level):
            if self.tasks > 40:
                cluster.close()
            return original(self, level)
        DaskBlocks._sum = closing
        X = np.random.default_rng(0).normal(size=(60, 3))
        try:
            LinearSVC().fit(da.from_array(X, chunks=(20, -1)), (X[:, 0] > 0).astype(int))
        except ClusterError as error:
            print("told:", error)
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=300, check=False
    )
    assert "told: the Dask scheduler went away" in found.stdout, found.stdout + found.stderr


def test_without_a_client_or_without_dask_the_message_says_what_to_do():
    program = """
        import dask.array as da
        from maxmargin.dask import LinearSVC
        try:
            LinearSVC().fit(da.ones((4, 2), chunks=2), da.arange(4, chunks=2))
        except ValueError as error:
            print(error)
    """
    found = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)
    assert "there is no Dask client; make one first" in found.stdout
    program = "import sys; sys.modules['distributed'] = None; import maxmargin.dask"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'maxmargin[dask]'" in found.stderr
