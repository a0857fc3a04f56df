"""Optima of tiny problems by a general-purpose solver that shares no code with maxmargin."""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear, nnls


def optimum(X, y, C, loss, bias=0.0):
    """The optimal objective value, from the bound-constrained dual solved by scipy.

    The dual ``min 1/2 |A'a|^2 + 1/2 a'Da - e'a`` is a bounded least-squares problem after completing the square, which
    scipy solves to machine precision; the value is that of the primal at the weights it gives.
    """
    X = np.hstack([np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float), np.full((len(y), 1), bias)])
    C = np.broadcast_to(np.asarray(C, dtype=float), len(y))
    keep = C > 0
    A, C = (y[:, None] * X)[keep], C[keep]
    if loss == "hinge":
        alpha = _bounded_least_squares(A, np.zeros(len(C)), C)
        return _primal(A.T @ alpha, A, lambda z: C * np.maximum(z, 0))
    diagonal = 1 / (2 * C)
    if loss == "least_squares":
        alpha = np.linalg.solve(A @ A.T + np.diag(diagonal), np.ones(len(C)))
        return _primal(A.T @ alpha, A, lambda z: C * z**2)
    alpha = _bounded_least_squares(A, diagonal, np.full(len(C), np.inf))
    return _primal(A.T @ alpha, A, lambda z: C * np.maximum(z, 0) ** 2)


def _primal(w, A, losses):
    return 0.5 * w @ w + losses(1 - A @ w).sum()


def _bounded_least_squares(A, diagonal, upper):
    # 1/2 a'(AA' + D)a - e'a = 1/2 |R a - b|^2 + constant with R'R = AA' + D and R'b = e. A ridge makes R regular; it
    # moves the optimal value by less than the tests can see.
    Q = A @ A.T + np.diag(diagonal) + 1e-10 * np.eye(len(A))
    R = np.linalg.cholesky(Q).T
    b = np.linalg.solve(R.T, np.ones(len(A)))
    if np.all(np.isinf(upper)):
        return nnls(R, b, maxiter=100 * len(A))[0]
    return lsq_linear(R, b, bounds=(0, upper), method="bvls", tol=1e-14, max_iter=100 * len(A)).x
