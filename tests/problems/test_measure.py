"""Performance measures as risks: brute force over labellings and tables, known special cases, certificates."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from maxmargin import (
    BinaryProblem,
    CuttingPlane,
    LinearSVC,
    MeasureProblem,
    RankingProblem,
    load_model,
    save_model,
    solve,
)

from ..conftest import csr, random_problem

ALL = [
    ("error_rate", None),
    ("f1", None),
    ("prbep", None),
    ("precision_at_k", 3),
    ("recall_at_k", 5),
    ("precision_at_k", 1),
]


def measure_of(name, y, labelling):
    if name == "error_rate":
        return float(np.mean(y == labelling))
    score = {"f1": f1_score, "precision_at_k": precision_score}.get(name, recall_score)
    return float(score(y, labelling, zero_division=0.0))


@pytest.mark.parametrize(("name", "k"), ALL)
@pytest.mark.parametrize("seed", range(3))
def test_the_risk_is_the_maximum_over_all_labellings(name, k, seed):
    rng = np.random.default_rng(seed)
    y = np.array([1, -1, 1, -1, -1, 1, -1, 1])
    scores = rng.normal(size=8) * (0.1, 1.0, 3.0)[seed]
    scores[3] = scores[4]
    problem = MeasureProblem(np.eye(8), y, measure=name, k=k)
    wanted = {"prbep": 4}.get(name, k)
    best = 0.0
    for labels in product([-1, 1], repeat=8):
        labelling = np.array(labels)
        if wanted is not None and np.sum(labelling > 0) != wanted:
            continue
        flipped = labelling != y
        loss = 0.0 if not flipped.any() else 8 * (1 - measure_of(name, y, labelling))
        best = max(best, loss - np.sum((y * scores)[flipped]))
    assert problem.risk(scores) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("store", [np.ascontiguousarray, csr], ids=["dense", "csr"])
@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize(("name", "k"), [*ALL, ("roc_area", None), ("recall_at_k", 40)])
def test_the_core_finds_the_table_that_brute_force_finds(name, k, bias, store):
    for seed in range(4):
        X, y = random_problem(rows=60, features=5, seed=seed, noise=1.5)
        X[7] = X[8]
        C = 10.0 ** (seed - 2)
        problem = MeasureProblem(store(X), y, C, measure=name, k=k, bias=bias)
        solution = solve(problem, tol=1e-4)
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(problem.primal(solution.weights), rel=1e-9)
        assert solution.certificate.primal <= problem.primal(np.zeros(6)) * (1 + 1e-12)
        rng = np.random.default_rng(seed)
        for scale in (0.01, 0.1, 1.0):  # no weights are below the dual value
            near = solution.weights + scale * rng.normal(size=6) * (bias or np.arange(6) < 5)
            assert problem.primal(near) >= solution.certificate.dual * (1 - 1e-12)


def test_the_error_rate_is_the_hinge():
    X, y = random_problem(rows=80, features=6, seed=1, noise=1.0)
    measured = solve(MeasureProblem(X, y, 0.3, measure="error_rate", bias=1.0), tol=1e-6)
    hinge = solve(BinaryProblem(X, y, 0.3, loss="hinge", bias=1.0), tol=1e-6)
    assert measured.certificate.primal == pytest.approx(hinge.certificate.primal, rel=2e-6)


def test_the_roc_area_is_a_ranking_of_two_levels():
    X, y = random_problem(rows=80, features=6, seed=2, noise=1.0)
    measured = solve(MeasureProblem(X, y, 0.3, measure="roc_area"), tol=1e-6)
    ranked = solve(RankingProblem(X, y, C=0.3 * 80), tol=1e-6)
    assert measured.certificate.primal == pytest.approx(ranked.certificate.primal, rel=2e-6)


def test_rows_of_weight_zero_are_as_good_as_absent():
    X, y = random_problem(rows=60, features=4, seed=3, noise=1.0)
    C = np.where(np.arange(60) % 3 == 0, 0.0, 0.5)
    part = solve(MeasureProblem(X, y, C, measure="f1", bias=1.0), tol=1e-5)
    alone = solve(MeasureProblem(X[C > 0], y[C > 0], 0.5, measure="f1", bias=1.0), tol=1e-5)
    assert part.certificate.primal == pytest.approx(alone.certificate.primal, rel=2e-5)


@pytest.mark.parametrize("acceleration", [True, False])
def test_the_estimator_optimises_the_measure_it_is_asked_for(acceleration, tmp_path):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 5))
    y = np.where(X[:, 0] + rng.normal(size=400) > 1.8, 1, 0)
    plain = LinearSVC("hinge", C=1.0).fit(X, y)
    model = LinearSVC(solver=CuttingPlane(measure="f1", acceleration=acceleration), C=1.0, max_iter=5000).fit(X, y)
    assert model.converged_
    assert model.duality_gap_ <= 1e-3
    assert f1_score(y, model.predict(X)) > f1_score(y, plain.predict(X))
    save_model(model, tmp_path / "a.mm")
    assert load_model(tmp_path / "a.mm").solver == model.solver
    area = LinearSVC(solver=CuttingPlane(measure="roc_area"), C=1.0).fit(X, y)
    assert roc_auc_score(y, area.decision_function(X)) >= roc_auc_score(y, plain.decision_function(X)) - 0.01


def test_what_does_not_work_is_named():
    X, y = random_problem()
    for options, message in (
        ({"measure": "auc"}, "measure='auc' is unknown; choose from"),
        ({"measure": "precision_at_k"}, "needs k"),
        ({"measure": "f1", "k": 3}, "takes no k"),
        ({"measure": "recall_at_k", "k": 0}, "k must be a whole number from 1 on"),
    ):
        with pytest.raises(ValueError, match=message):
            CuttingPlane(**options)
        with pytest.raises(ValueError, match=message):
            MeasureProblem(X, y, **options)
    with pytest.raises(ValueError, match="k=61 is more than the 60 rows"):
        MeasureProblem(X, y, measure="recall_at_k", k=61)
    with pytest.raises(ValueError, match="same weight for all rows"):
        MeasureProblem(X, y, np.arange(1, 61), measure="f1")
    with pytest.raises(ValueError, match="rows of both classes"):
        MeasureProblem(X, np.ones(60), measure="f1")
    with pytest.raises(ValueError, match="its measure is 'f1'"):
        solve(BinaryProblem(X, y, loss="hinge"), CuttingPlane(measure="f1"))
    with pytest.raises(ValueError, match="its measure is 'f1'"):
        solve(MeasureProblem(X, y, measure="prbep"), CuttingPlane(measure="f1"))
    with pytest.raises(ValueError, match="a measure takes the place of the loss"):
        LinearSVC("least_squares", solver=CuttingPlane(measure="f1")).fit(X, y)
    with pytest.raises(ValueError, match="warm_start"):
        LinearSVC(solver=CuttingPlane(measure="f1"), warm_start=True).fit(X, y)
