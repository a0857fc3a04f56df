"""
On a Dask cluster
=================

Train over several processes that share nothing but messages, kill one of them in the middle, and get the same bits all
the same.
"""

# %%
# A scheduler and two workers, each a process of its own on this machine. For a real cluster the line is
# ``Client("tcp://scheduler:8786")``, and nothing else changes. (With Dask's ``LocalCluster`` the lines of a script have
# to stand below ``if __name__ == "__main__":``. ``SubprocessCluster`` starts its processes by a command and needs no
# such line, but Linux or macOS.)
import os
import signal
import time

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, SubprocessCluster

import maxmargin
from maxmargin.dask import LinearSVC

cluster = SubprocessCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50)
client = Client(cluster)
client.wait_for_workers(2)

# %%
# 40,000 rows in eight blocks, made by the workers: they never pass through this process. Dask's arrays are recipes, so
# that a block that is lost can be made again.
rng = da.random.default_rng(0)
X = rng.normal(size=(40_000, 30), chunks=(5_000, -1))
y = X @ np.linspace(-1, 1, 30) + rng.normal(size=40_000, chunks=5_000) > 0
model = LinearSVC("squared_hinge").fit(X, y)
print(f"{model.solver_used_}: {model.n_iter_} rounds, certified gap {model.duality_gap_:.1e}")
print(f"accuracy {model.score(X, y):.3f}")

# %%
# The bounds are those of all rows together, as if they lay in one place.
whole = maxmargin.LinearSVC("squared_hinge").fit(X.compute(), y.compute())
print(f"in memory:  {whole.dual_objective_:.2f} <= optimum <= {whole.primal_objective_:.2f}")
print(f"on workers: {model.dual_objective_:.2f} <= optimum <= {model.primal_objective_:.2f}")


# %%
# Now a fit that takes more rounds, twice: undisturbed, and while a worker dies. A callback of scikit-learn's kind kills
# the process of one of the two half way, with all the blocks it holds.
class KillAWorker:
    """Kill a worker when half of the way to ``tol`` is done."""

    steps = 0

    def setup(self, estimator, context):
        """The fit begins."""
        self.begin = time.perf_counter()

    def on_fit_task_begin(self, estimator, context):
        """A step begins."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        """One of the twenty steps to ``tol`` has been done."""
        self.steps += 1
        if self.steps == 10:
            os.kill(client.submit(os.getpid, pure=False).result(), signal.SIGKILL)
            self.seconds = time.perf_counter() - self.begin

    def teardown(self, estimator, context):
        """The fit has ended."""


calm = LinearSVC("hinge").fit(X, y)
killer = KillAWorker()
shaken = LinearSVC("hinge").set_callbacks(killer).fit(X, y)
print("the same bits:", np.array_equal(calm.coef_, shaken.coef_))

# %%
# What was lost is computed again, by the other worker or by one that takes the place of the dead. Round by round both
# fits are the same; only the clock can tell in which one somebody died.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
for shift, (name, fit, style) in enumerate((("undisturbed", calm, "C0o-"), ("a worker is killed", shaken, "C1.--"))):
    rounds = np.array([report.epoch for report in fit.history_])
    seconds = np.diff([report.seconds for report in fit.history_])
    left.semilogy(rounds, [report.gap for report in fit.history_], style, label=name)
    right.bar(rounds[1:] + 0.4 * shift - 0.2, seconds, width=0.4, color=style[:2], label=name)
left.set(xlabel="round", ylabel="certified gap")
right.set(xlabel="round", ylabel="seconds it took")
killed = 0.5 + sum(report.seconds <= killer.seconds for report in shaken.history_)
right.axvline(killed, color="C3", linestyle=":", label="the kill")
right.legend()
figure.tight_layout()
plt.show()

# %%
# More on blocks, methods and costs is in :doc:`On a Dask cluster <../dask>`.
client.close()
cluster.close()
