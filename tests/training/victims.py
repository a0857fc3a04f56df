"""Trainings to be killed: a process that forks one for each line it reads, so that none has to import anything.

A line is a JSON object, the arguments of `train`. The answer is the process number of the training, and when it has
ended, one way or another, its exit code.
"""

import json
import os
import signal
import sys

import numpy as np

from maxmargin.problems.one_class import OneClassProblem
from maxmargin.problems.ranking import RankingProblem
from maxmargin.problems.regression import RegressionProblem
from maxmargin.training.checkpoint import solve_one
from maxmargin.training.classification import train_classifier


def data(kind):
    """Rows, labels and groups of a problem that keeps its solvers busy for some time."""
    rng = np.random.default_rng(0)
    rows, features = (1500, 20) if kind == "ranking" else (2500, 30)
    X = rng.normal(size=(rows, features)) * np.linspace(0.3, 3.0, features)
    scores = X @ rng.normal(size=(features, 3)) / 3 + 2.0 * rng.normal(size=(rows, 3))
    if kind == "regression":
        return X, scores[:, 0], None
    if kind == "one class":
        return X + 1.5, scores[:, 0], None
    if kind == "binary":
        return X, (scores[:, 0] > 0).astype(np.intp), None
    if kind == "ranking":
        return X, np.digitize(scores[:, 0], [-1.0, 1.0, 3.0]).astype(np.float64), rng.integers(0, 40, rows)
    return X, scores.argmax(axis=1), None


def train(kind, path, tol, interval=0.01, solver="auto", C=1.0, **options):
    """The problems and solutions of a training with a checkpoint, or without if ``path`` is None."""
    X, y, qid = data(kind)
    common = {"tol": tol, "max_iter": 10**9, "checkpoint": path, "checkpoint_interval": interval}
    if kind == "ranking":
        problem = RankingProblem(X, y, C, qid=qid)
        return [problem], [solve_one(problem, solver, **common)]
    if kind == "regression":
        problem = RegressionProblem(X, y, C, bias=1.0, **options)
        return [problem], [solve_one(problem, solver, **common)]
    if kind == "one class":
        problem = OneClassProblem(X, 0.2, C)
        return [problem], [solve_one(problem, solver, **common)]
    if kind == "classes":
        options.setdefault("multi_class", "crammer_singer")
    return train_classifier(X, y, int(y.max()) + 1, C, solver=solver, **options, **common)


def main():
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                train(**json.loads(line))
                signal.pause()  # one that has ended is killed all the same
            finally:
                os._exit(1)
        print(pid, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
