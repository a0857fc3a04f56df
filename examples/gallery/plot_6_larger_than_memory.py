"""
Larger than memory
==================

Write rows to a folder of blocks as they come, and train on them within a memory limit, to the same certificate. The
data here are small, so that this page is made in seconds, and the limit is smaller still; for terabytes only the
numbers change.
"""

# %%
# Rows come in pieces, from a database or, here, from a generator: 200,000 rows with 40 of 20,000 features each. No more
# than one piece is ever in memory.
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from maxmargin import open_blocks, write_blocks

N_FEATURES, LENGTH = 20_000, 40
truth = np.random.default_rng(0).normal(size=N_FEATURES)


def pieces():
    """Sparse rows of norm 1 and their labels, 10,000 at a time."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        columns = (N_FEATURES * rng.random((10_000, LENGTH)) ** 2).astype(np.int32)
        ends = np.arange(0, columns.size + 1, LENGTH)
        X = sp.csr_matrix((np.full(columns.size, LENGTH**-0.5), columns.ravel(), ends), shape=(10_000, N_FEATURES))
        yield X, X @ truth + 0.3 * rng.normal(size=10_000) > 0


folder = Path(tempfile.mkdtemp()) / "train.blocks"
write_blocks(pieces(), folder)
blocks = open_blocks(folder)
print(f"{blocks.shape[0]:,} x {blocks.shape[1]:,} in {blocks.n_blocks} blocks: {blocks.nbytes / 1e6:.0f} MB in memory")

# %%
# ``memory`` is what the process may take in all, Python and its libraries with it. Two fits are compared: one may load
# the rows, the other may not. Each runs in a process of its own, so that its peak is that of the fit alone; in a script
# of yours it is one line, ``LinearSVC("hinge").fit(open_blocks(folder, memory="2GB"))``.
FIT = """
import json, resource, sys
from maxmargin import LinearSVC, open_blocks

model = LinearSVC("hinge", tol=0.005).fit(open_blocks(sys.argv[1], memory=sys.argv[2]))
print(json.dumps({
    "method": model.solver_used_,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,  # Linux counts kilobytes
    "gap": model.duality_gap_,
    "objective": model.primal_objective_,
    "history": [[report.epoch, report.dual, report.primal] for report in model.history_],
}))
"""
fits = {}
for limit in ("4GB", "280MB"):
    done = subprocess.run([sys.executable, "-c", FIT, str(folder), limit], capture_output=True, text=True, check=True)
    fits[limit] = fit = json.loads(done.stdout)
    passes = fit["history"][-1][0]
    print(f"memory={limit!r}: {fit['method']}, {passes} passes, peak {fit['peak'] / 2**20:.0f} MB")
    print(f"    objective {fit['objective']:.0f}, certified gap {fit['gap']:.1e}")

# %%
# The same problem is solved to the same tolerance. Every pass over the blocks ends with a certificate, so that the
# bounds can be watched as they close in; in memory a look at them costs a pass like any other, and there are fewer. The
# price is reading: each pass reads all blocks once, so count on the time that your disk takes for them. The program
# itself takes some 200 MB of either peak, which is why the limit cannot be much lower.
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), width_ratios=(2, 1))
passes, dual, primal = np.transpose(fits["280MB"]["history"])
left.fill_between(passes, dual, primal, color="C0", alpha=0.2, label="the optimum is in here")
left.plot(passes, primal, "C0o-", markersize=4, label="primal objective")
left.plot(passes, dual, "C1o-", markersize=4, label="dual objective")
left.set(xlabel="passes over the blocks", ylabel="objective", ylim=(0.8 * primal[-1], 1.3 * primal[-1]))
left.legend()
names = ["in memory", "280 MB limit"]
bars = right.bar(names, [fit["peak"] / 2**20 for fit in fits.values()], color=["C7", "C0"], width=0.6)
right.bar_label(bars, fmt="%.0f MB", label_type="center", color="white")
right.axhline(280, color="black", linestyle=":", linewidth=1)
right.set_ylabel("peak memory of the process, MB")
figure.tight_layout()
plt.show()

# %%
# The model is an ordinary one, and predicts blocks as it was trained on them: piece by piece. On the command line it is
# ``maxmargin convert data.svm train.blocks`` and ``maxmargin train train.blocks model.mm --memory 2GB``. What streams,
# and by which method, is in :doc:`Data larger than memory <../larger_than_memory>`.
