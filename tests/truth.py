"""Optima of tiny problems by a general-purpose solver that shares no code with maxmargin."""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize_scalar, nnls


def optimum(X, y, C, loss, bias=0.0):
    """The optimal objective value, from the bound-constrained dual.

    The dual ``min 1/2 |A'a|^2 + 1/2 a'Da - e'a`` is a quadratic program with bounds; for the squared hinge it is, after
    completing the square, a non-negative least-squares problem, which scipy solves to machine precision. The value is
    that of the primal at the weights it gives.
    """
    X = np.hstack([np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float), np.full((len(y), 1), bias)])
    C = np.broadcast_to(np.asarray(C, dtype=float), len(y))
    keep = C > 0
    A, C = (y[:, None] * X)[keep], C[keep]
    if loss == "hinge":
        box = np.vstack([-np.eye(len(C)), np.eye(len(C))])
        alpha = _interior_point(A @ A.T, np.ones(len(C)), box, np.concatenate([np.zeros(len(C)), C]), C / 2)
        return _primal(A.T @ alpha, A, lambda z: C * np.maximum(z, 0))
    diagonal = 1 / (2 * C)
    if loss == "least_squares":
        alpha = np.linalg.solve(A @ A.T + np.diag(diagonal), np.ones(len(C)))
        return _primal(A.T @ alpha, A, lambda z: C * z**2)
    alpha = _nonnegative_least_squares(A, diagonal)
    return _primal(A.T @ alpha, A, lambda z: C * np.maximum(z, 0) ** 2)


def free_bias_optimum(X, y, C, loss):
    """The optimal value with a bias outside the regulariser, from the dual with its condition y'a = 0.

    The condition is fulfilled by ``a = N u`` with the columns of ``N`` orthogonal to ``y``. The value is that of the
    primal at the weights that ``a`` gives, minimised over the bias by scipy.
    """
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    C = np.broadcast_to(np.asarray(C, dtype=float), len(y))
    keep = C > 0
    X, y, C = X[keep], y[keep], C[keep]
    A = y[:, None] * X
    Q = A @ A.T + np.diag(np.zeros(len(y)) if loss == "hinge" else 1 / (2 * C))
    N = null_space(y[np.newaxis].astype(float))
    if loss == "least_squares":
        alpha = N @ np.linalg.solve(N.T @ Q @ N, N.sum(axis=0))
    else:
        inside = np.where(y > 0, 1 / (y > 0).sum(), 1 / (y < 0).sum()) * C.min() / 2
        G, h = -N, np.zeros(len(y))
        if loss == "hinge":
            G, h = np.vstack([G, N]), np.concatenate([h, C])
        alpha = N @ _interior_point(N.T @ Q @ N, N.sum(axis=0), G, h, N.T @ inside)
    w = A.T @ alpha
    power = 1 if loss == "hinge" else 2
    slack = (lambda z: z) if loss == "least_squares" else (lambda z: np.maximum(z, 0))

    def value(b):
        return 0.5 * w @ w + C @ slack(1 - y * (X @ w + b)) ** power

    positions = y - X @ w
    brackets = (positions.min() - 1, positions.max() + 1)
    best = minimize_scalar(value, bounds=brackets, method="bounded", options={"xatol": 1e-13, "maxiter": 500})
    return min(best.fun, min(value(b) for b in positions))


def regression_optimum(X, y, C, loss, epsilon=0.0, bias=0.0, free_bias=False):
    """The optimal value of a regression, from its dual with the two sides of the tube as variables of their own.

    ``a = p - n`` with ``p, n >= 0``, of which at the optimum one is zero if epsilon is not. A free bias is the
    condition ``sum p = sum n``. The value is that of the primal at the weights, minimised over a free bias by scipy.
    """
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    if bias and not free_bias:
        X = np.hstack([X, np.full((len(y), 1), bias)])
    C = np.broadcast_to(np.asarray(C, dtype=float), len(y))
    keep = C > 0
    X, y, C = X[keep], np.asarray(y, dtype=float)[keep], C[keep]
    linear_loss = loss == "epsilon_insensitive"
    A = np.vstack([X, -X])
    Q = A @ A.T + np.diag(np.zeros(2 * len(y)) if linear_loss else np.tile(1 / (2 * C), 2))
    linear = np.concatenate([y - epsilon, -y - epsilon])
    scale = np.abs(linear).max() or 1.0  # by which the interior point method's own tolerances are meant
    C_scaled = C / scale if linear_loss else C
    if linear_loss:
        Q = A @ A.T
    G, h = -np.eye(2 * len(y)), np.zeros(2 * len(y))
    inside = np.tile(C_scaled.min() / 2, 2 * len(y))
    if linear_loss:
        G, h = np.vstack([G, np.eye(2 * len(y))]), np.concatenate([h, np.tile(C_scaled, 2)])
    N = np.eye(2 * len(y))
    if free_bias:
        N = null_space(np.concatenate([np.ones(len(y)), -np.ones(len(y))])[np.newaxis])
    u = _interior_point(N.T @ Q @ N, N.T @ linear / scale, G @ N, h, N.T @ inside)
    w = scale * (A.T @ (N @ u))
    power = 1 if linear_loss else 2

    def value(b):
        return 0.5 * w @ w + C @ np.maximum(np.abs(y - X @ w - b) - epsilon, 0) ** power

    if not free_bias:
        return value(0.0)
    residuals = y - X @ w
    kinks = np.concatenate([residuals - epsilon, residuals + epsilon])
    bracket = (kinks.min(), kinks.max() + 1e-9 * scale)
    best = minimize_scalar(value, bounds=bracket, method="bounded", options={"xatol": 1e-13 * scale, "maxiter": 500})
    return min(best.fun, min(value(b) for b in kinks))


def one_class_optimum(X, nu, C):
    """The optimal value of a one-class problem, from its dual: 1/2 |X'a|^2 over 0 <= a <= C with a sum of nu sum C."""
    C = np.broadcast_to(np.asarray(C, dtype=float), len(X))
    X, C = np.asarray(X, dtype=float)[C > 0], C[C > 0]
    scale = np.linalg.norm(X.T @ (nu * C)) / (nu * C.sum())  # by which the method's own tolerances are meant
    Q, a0, N = X @ X.T / scale**2, nu * C, null_space(np.ones((1, len(C))))
    G, h = np.vstack([-N, N]), np.concatenate([a0, C - a0])
    u = _interior_point(N.T @ Q @ N, -(N.T @ Q @ a0), G, h, np.zeros(N.shape[1]))
    w = X.T @ (a0 + N @ u)
    scores = X @ w
    return min(0.5 * w @ w - nu * C.sum() * rho + C @ np.maximum(rho - scores, 0) for rho in scores)


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
        rows, upper = np.eye(len(pairs)), np.array([C[i] for i, _ in pairs])
    else:
        rows, upper = np.array([[float(i == j) for j, _ in pairs] for i in range(len(y)) if C[i] > 0]), C[C > 0]
    G, h = np.vstack([-np.eye(len(pairs)), rows]), np.concatenate([np.zeros(len(pairs)), upper])
    alpha = _interior_point(A @ A.T, np.ones(len(pairs)), G, h, rows.T @ (upper / (2 * rows.sum(axis=1))))
    alpha = np.maximum(alpha, 0.0)
    w = A.T @ alpha
    slack = np.full((len(y), len(classes)), 0.0)
    for (i, m), z in zip(pairs, 1 - A @ w, strict=True):
        slack[i, m] = max(z, 0.0)
    return 0.5 * w @ w + C @ (slack.max(axis=1) if formulation == "crammer_singer" else slack.sum(axis=1))


def _interior_point(Q, linear, G, h, a):
    """min 1/2 a'Qa - linear'a with G a <= h, by a primal-dual interior point method, from an a inside."""
    n, m = len(Q), len(G)
    s, z = h - G @ a, np.ones(m)
    for _ in range(100):
        gradient = Q @ a - linear + G.T @ z
        gap = s @ z / m
        if gap < 1e-13 * max(h.max(), 1.0) and np.abs(gradient).max() < 1e-9:
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
        center = ((s + t * ds) @ (z + t * dz) / m / gap) ** 3
        da, ds, dz = step(center * gap)
        t = 0.99 * min(longest(s, ds), longest(z, dz))
        a, s, z = a + t * da, s + t * ds, z + t * dz
    return a


def _primal(w, A, losses):
    return 0.5 * w @ w + losses(1 - A @ w).sum()


def _nonnegative_least_squares(A, diagonal):
    # 1/2 a'(AA' + D)a - e'a = 1/2 |R a - b|^2 + constant with R'R = AA' + D and R'b = e.
    R = np.linalg.cholesky(A @ A.T + np.diag(diagonal)).T
    b = np.linalg.solve(R.T, np.ones(len(A)))
    return nnls(R, b, maxiter=100 * len(A))[0]
