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


def multiclass_optimum(X, y, C, formulation, bias=0.0):
    """The optimal value of a multi-class problem, from its dual as a general quadratic program.

    Variables are a_i^m >= 0 for the classes m other than y_i, with w = sum_i a_i^m (e_y - e_m) x_i. Crammer-Singer
    bounds their sum over m by C_i, Weston-Watkins each by C_i. The value is that of the primal at the weights it gives.
    """
    X = np.hstack([np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float), np.full((len(y), 1), bias)])
    C = np.broadcast_to(np.asarray(C, dtype=float), len(y))
    classes = np.eye(y.max() + 1)
    pairs = [(i, m) for i in range(len(y)) for m in range(len(classes)) if m != y[i] and C[i] > 0]
    A = np.array([np.outer(classes[y[i]] - classes[m], X[i]).ravel() for i, m in pairs])
    if formulation == "weston_watkins":
        alpha = _interior_point(A @ A.T, np.eye(len(pairs)), np.array([C[i] for i, _ in pairs]))
    else:
        rows = np.array([[float(i == j) for j, _ in pairs] for i in range(len(y)) if C[i] > 0])
        alpha = _interior_point(A @ A.T, rows, C[C > 0])
    w = A.T @ alpha
    slack = np.full((len(y), len(classes)), 0.0)
    for (i, m), z in zip(pairs, 1 - A @ w, strict=True):
        slack[i, m] = max(z, 0.0)
    return 0.5 * w @ w + C @ (slack.max(axis=1) if formulation == "crammer_singer" else slack.sum(axis=1))


def _interior_point(Q, rows, upper):
    """min 1/2 a'Qa - e'a with a >= 0 and rows @ a <= upper, by a primal-dual interior point method."""
    n, m = len(Q), len(rows)
    G = np.vstack([-np.eye(n), rows])
    h = np.concatenate([np.zeros(n), upper])
    a = rows.T @ (upper / (2 * rows.sum(axis=1)))
    s, z = h - G @ a, np.ones(n + m)
    for _ in range(100):
        gradient = Q @ a - 1 + G.T @ z
        gap = s @ z / (n + m)
        if gap < 1e-13 * max(upper) and np.abs(gradient).max() < 1e-9:
            break

        def step(target, gradient=gradient, s=s, z=z):
            D = z / s
            right = -gradient - G.T @ ((target - s * z) / s)
            da = np.linalg.solve(Q + G.T @ (D[:, None] * G) + 1e-11 * np.eye(n), right)
            ds = -G @ da
            return da, ds, (target - s * z - z * ds) / s

        def longest(v, dv):
            return min([1.0, *(-v[dv < 0] / dv[dv < 0])])

        try:
            _, ds, dz = step(0.0)
        except np.linalg.LinAlgError:  # rows of zeros leave the optimum free in directions that do not matter
            break
        t = min(longest(s, ds), longest(z, dz))
        center = ((s + t * ds) @ (z + t * dz) / (n + m) / gap) ** 3
        da, ds, dz = step(center * gap)
        t = 0.99 * min(longest(s, ds), longest(z, dz))
        a, s, z = a + t * da, s + t * ds, z + t * dz
    return np.maximum(a, 0.0)


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
