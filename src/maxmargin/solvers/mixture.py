"""Weights of low primal value among the mixtures of weights seen before, found on a sample of the rows.

The scores of a mixture are the mixture of the scores, so a sample of the rows with their scores for each of the weights
is a small problem with a few features: the shares. Its regulariser is ``1/2 |sum_k c_k w_k|^2``, which becomes
``1/2 |c|^2`` by a change of basis.
"""

from __future__ import annotations

import numpy as np

from maxmargin.problems.binary import BinaryProblem
from maxmargin.problems.losses import Floats
from maxmargin.problems.regression import RegressionProblem
from maxmargin.solvers.block import Learning
from maxmargin.solvers.solve import solve

#: How many weights are mixed.
MEMORY = 16


class Mixtures:
    """The last weights, and their scores on a sample.

    Parameters
    ----------
    learning : Learning
        What is learned.
    sample : ndarray of shape (3, rows)
        Signs, targets and weights of the sampled rows.
    """

    def __init__(self, learning: Learning, sample: Floats) -> None:
        used = np.flatnonzero(sample[2] > 0)
        self.used = used
        self.learning, (self.sign, self.target, self.C) = learning, sample[:, used]
        self.weights: list[Floats] = []
        self.scores: list[Floats] = []
        self.champion: tuple[float, Floats, Floats] | None = None
        self.proposed: tuple[Floats, Floats] | None = None

    def evaluated(self, weights: Floats, scores: Floats, value: float) -> None:
        """Weights, their scores on the sample, and their objective on all rows."""
        scores = scores[self.used]
        if not np.any(weights):
            return
        self.weights = [*self.weights, weights][-MEMORY:]
        self.scores = [*self.scores, scores][-MEMORY:]
        if self.champion is None or value < self.champion[0]:
            self.champion = (value, weights, scores)

    def tried(self, value: float) -> None:
        """The objective of the proposed mixture on all rows."""
        if self.proposed is not None and (self.champion is None or value < self.champion[0]):
            self.champion = (value, *self.proposed)

    def best(self) -> Floats | None:
        """The mixture that is best for the sample."""
        self.proposed = None
        if self.champion is None or len(self.used) == 0:
            return None
        W = np.array([*self.weights, self.champion[1]])
        S = np.array([*self.scores, self.champion[2]]).T
        lengths = np.sqrt((W * W).sum(axis=1))
        values, vectors = np.linalg.eigh((W / lengths[:, np.newaxis]) @ (W / lengths[:, np.newaxis]).T)
        kept = values > 1e-8 * values.max()
        basis = (vectors[:, kept] / np.sqrt(values[kept])) / lengths[:, np.newaxis]
        features = np.ascontiguousarray(S @ basis)
        if not np.all(np.isfinite(features)):
            return None
        loss = self.learning.loss
        problem: BinaryProblem | RegressionProblem
        if self.learning.kind == "binary":
            problem = BinaryProblem(features, self.sign.astype(np.int8), self.C, loss=loss)
        else:
            problem = RegressionProblem(features, self.target, self.C, loss=loss.name, epsilon=loss.epsilon)
        shares = basis @ solve(problem, "newton", tol=1e-4, max_iter=30).weights[:-1]
        self.proposed = (shares @ W, S @ shares)
        return self.proposed[0]
