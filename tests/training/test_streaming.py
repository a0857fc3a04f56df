"""Training on blocks within a memory limit: the same optimum as in memory, by certificates recomputed on all rows."""

import threading

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from maxmargin import (
    BinaryProblem,
    CuttingPlane,
    DualCoordinateDescent,
    LinearRankSVM,
    LinearRankSVMCV,
    LinearSVC,
    LinearSVCCV,
    LinearSVR,
    LinearSVRCV,
    MulticlassProblem,
    OneClassSVM,
    RankingProblem,
    RegressionProblem,
    open_blocks,
    solve,
    svm_path,
    write_blocks,
)
from maxmargin.problems.multiclass import FORMULATIONS


def make(rows=600, features=12, classes=2, seed=0, density=1.0):
    """Rows of classes that overlap, one class after the other, as data often lie."""
    rng = np.random.default_rng(seed)
    labels = np.sort(rng.integers(0, classes, rows))
    X = rng.normal(size=(rows, features)) * (rng.uniform(size=(rows, features)) < density)
    X[np.arange(rows), labels % features] += 1.5
    X[5] = 0.0
    X[7] = X[8]
    return X, labels


@pytest.fixture
def stream(tmp_path, monkeypatch):
    """A function that writes rows in small blocks and opens them so that they do not fit within memory."""
    from maxmargin.io import blocks

    monkeypatch.setattr(blocks, "LEAST_MEMORY", 8 << 20)
    monkeypatch.setattr(blocks, "LOADED_SHARE", 0.0)
    count = iter(range(100))

    def write(*parts, block_bytes=10000, **options):
        return write_blocks(parts, tmp_path / f"{next(count)}.blocks", block_bytes=block_bytes, **options)

    return write


def signed(model):
    return model.dual_coef_.toarray()


@pytest.mark.parametrize("bias", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "least_squares"])
@pytest.mark.parametrize("solver", ["dcd", "newton"])
def test_two_classes_reach_the_optimum_of_all_rows(stream, solver, loss, bias):
    X, y = make()
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0 + np.arange(len(y)) % 3)
    model = LinearSVC(
        loss, C=0.3, solver=solver, tol=1e-4, fit_intercept=bias > 0, intercept_scaling=bias or 1.0, max_iter=3000
    ).fit(stream(X, y, weight))
    assert model.converged_
    assert model.solver_used_ == f"{solver} over blocks"
    problem = BinaryProblem(X, 2 * y - 1, 0.3 * weight, loss=loss, bias=bias)
    weights = np.append(model.coef_, model.intercept_ / bias if bias else [0.0])
    primal, dual = problem.certificate(weights, problem.alpha_of(signed(model)[0]))
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-9)
    assert model.dual_objective_ == pytest.approx(dual, rel=1e-9)
    assert primal - dual <= 1.0001e-4 * primal
    optimum = solve(problem, tol=1e-9).certificate.primal
    assert dual * (1 - 1e-9) <= optimum <= primal * (1 + 1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("solver", ["dcd", "newton"])
def test_one_against_the_rest_certifies_every_class(stream, solver, dtype):
    X, y = make(classes=4)
    X = X.astype(dtype)
    model = LinearSVC(C=0.1, solver=solver, class_weight="balanced").fit(stream(X, y))
    same = LinearSVC(C=0.1, class_weight="balanced", tol=1e-9).fit(X, y)
    assert model.coef_.shape == (4, 12)
    assert np.all(model.duality_gap_ <= 1e-3)
    np.testing.assert_allclose(model.primal_objective_, same.primal_objective_, rtol=1e-3)
    assert np.all(model.dual_objective_ <= same.primal_objective_ * (1 + 1e-9))
    assert model.n_support_.sum() == len(model.support_)
    assert model.score(stream(X, y)) == pytest.approx(same.score(X, y), abs=0.01)


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("formulation", list(FORMULATIONS))
def test_several_classes_at_once_reach_the_optimum_of_all_rows(stream, formulation, classes):
    X, y = make(rows=300, classes=classes)
    weight = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0 + np.arange(len(y)) % 3)
    model = LinearSVC(multi_class=formulation, C=0.1, max_iter=2000).fit(stream(X, y, weight))
    assert model.converged_
    assert model.solver_used_ == "sdm over blocks"
    problem = MulticlassProblem(X, y, 0.1 * weight, formulation=formulation, bias=1.0)
    exact = solve(problem, tol=1e-8).certificate.primal
    assert model.dual_objective_ <= exact * (1 + 1e-9)
    assert exact <= model.primal_objective_ * (1 + 1e-9) <= exact * 1.0011
    assert problem.dual(problem.alpha_of(model.dual_coef_)) == pytest.approx(model.dual_objective_, rel=1e-9)
    if classes > 2:
        weights = np.hstack([model.coef_, model.intercept_[:, np.newaxis]])
        assert problem.primal(weights) == pytest.approx(model.primal_objective_, rel=1e-9)


@pytest.mark.parametrize("solver", ["dcd", "newton"])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive", "least_squares"])
def test_regression_reaches_the_optimum_of_all_rows(stream, loss, solver):
    X, _ = make()
    y = 50.0 * X[:, 0] - 20.0 * X[:, 1] + 100.0 + 10.0 * np.random.default_rng(1).normal(size=len(X))
    epsilon = 0.0 if loss == "least_squares" else 3.0
    model = LinearSVR(loss=loss, epsilon=epsilon, C=0.2, solver=solver, max_iter=3000).fit(stream(X, y))
    assert model.converged_
    problem = RegressionProblem(X, y, 0.2, loss=loss, epsilon=epsilon, bias=1.0)
    weights = np.append(model.coef_, model.intercept_)
    primal, dual = problem.certificate(weights, signed(model)[0])
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-9)
    assert model.dual_objective_ == pytest.approx(dual, rel=1e-9)
    optimum = solve(problem, tol=1e-9).certificate.primal
    assert dual * (1 - 1e-9) <= optimum <= primal * (1 + 1e-9) <= optimum * 1.0011
    assert model.score(stream(X, y)) == pytest.approx(model.score(X, y), abs=1e-12)


@pytest.mark.parametrize("where", ["within blocks", "across blocks", "one group", "given"])
def test_ranking_reaches_the_optimum_of_all_rows(stream, where):
    rng = np.random.default_rng(3)
    X, _ = make(rows=400, features=6)
    y = np.round(X[:, 0] + 0.5 * rng.normal(size=400))
    weight = 1.0 + np.arange(400) % 2
    qid = np.sort(rng.integers(0, 25, 400))
    if where == "across blocks":
        qid = rng.permutation(qid)
    own = None if where in ("one group", "given") else qid
    given = qid if where == "given" else None
    blocks = stream(X, y, weight, own, block_bytes=2000)
    model = LinearRankSVM(C=5.0).fit(blocks, qid=given)
    assert model.converged_
    assert model.solver_used_ == "cutting_plane over blocks"
    problem = RankingProblem(X, y, 5.0, qid=None if where == "one group" else qid, weights=weight)
    optimum = solve(problem, tol=1e-8).certificate.primal
    assert problem.primal(np.append(model.coef_, 0.0)) == pytest.approx(model.primal_objective_, rel=1e-9)
    assert model.dual_objective_ <= optimum * (1 + 1e-9)
    assert optimum <= model.primal_objective_ * (1 + 1e-9) <= optimum * 1.0011
    # Weights of the variables prove the dual value: 1/2 |w|^2 of it is the same.
    distance = np.linalg.norm(model.coef_.ravel() - problem.weights(signed(model)[0])[:-1])
    assert distance**2 <= 4 * (model.primal_objective_ - model.dual_objective_) + 1e-12
    counts = problem.ranks.count(X @ model.coef_.ravel())
    assert (model.n_pairs_, model.n_swapped_) == pytest.approx((counts.all.sum(), counts.swapped.sum()))
    qid_of_score = given if where == "given" else None
    assert model.score(blocks, qid=qid_of_score) == pytest.approx(counts.share_in_order)


def test_many_features_choose_descent_and_few_newton(stream):
    rng = np.random.default_rng(4)
    X = sparse.random(300, 1500, density=0.02, random_state=4, format="csr")
    y = np.array(["no", "yes"])[(np.asarray(X.sum(axis=1)).ravel() + 0.1 * rng.normal(size=300) > 15).astype(int)]
    model = LinearSVC(C=0.5).fit(stream(X, y))
    assert model.solver_used_ == "dcd over blocks"
    assert model.converged_
    assert model.classes_.tolist() == ["no", "yes"]
    assert np.array_equal(model.predict(stream(X, y)), model.predict(X))
    np.testing.assert_allclose(model.decision_function(stream(X, y)), model.decision_function(X), rtol=1e-12)
    assert LinearSVC().fit(stream(*make())).solver_used_ == "newton over blocks"


def test_blocks_that_fit_are_loaded_and_give_the_same_bits(tmp_path):
    X, y = make()
    blocks = write_blocks((X, y), tmp_path / "a", block_bytes=4000)
    assert open_blocks(tmp_path / "a", memory="1TB").fits
    model = LinearSVC().fit(blocks)
    same = LinearSVC().fit(sparse.csr_matrix(X), y)
    assert np.array_equal(model.coef_, same.coef_)
    assert model.solver_used_ == same.solver_used_


def test_the_same_seed_gives_the_same_bits(stream):
    X, y = make()
    blocks = stream(X, y)
    first, second = (LinearSVC(solver="dcd").fit(blocks) for _ in range(2))
    assert np.array_equal(first.coef_, second.coef_)
    assert first.n_iter_ == second.n_iter_


def test_labels_weights_and_parts_may_be_given(stream):
    X, y = make()
    weight = 1.0 + np.arange(len(y)) % 4
    blocks = stream(X, None)
    with pytest.raises(ValueError, match="has no labels; give them as y"):
        LinearSVC().fit(blocks)
    given = LinearSVC().fit(blocks, y, sample_weight=weight)
    own = LinearSVC().fit(stream(X, y, weight))
    np.testing.assert_allclose(given.coef_, own.coef_, rtol=1e-9)
    rows = np.sort(np.random.default_rng(0).choice(len(y), 200, replace=False))
    part = LinearSVC(tol=1e-6).fit(stream(X, y)[rows])
    alone = LinearSVC(tol=1e-6).fit(X[rows], y[rows])
    assert part.primal_objective_ == pytest.approx(alone.primal_objective_, rel=1e-5)
    assert part.dual_coef_.shape == (1, 200)


def test_scikit_learn_cross_validates_over_blocks(stream):
    from sklearn.model_selection import GridSearchCV, cross_val_score

    X, y = make()
    blocks = stream(X, y)
    scores = cross_val_score(LinearSVC(), blocks, blocks.y, cv=3)
    np.testing.assert_allclose(scores, cross_val_score(LinearSVC(), X, y, cv=3), atol=0.02)
    search = GridSearchCV(LinearSVC(), {"C": [0.01, 1.0]}, cv=3).fit(blocks, blocks.y)
    assert search.best_estimator_.solver_used_ == "newton over blocks"


@pytest.mark.parametrize("estimator", [LinearSVCCV, LinearSVRCV, LinearRankSVMCV])
def test_searches_over_C_take_blocks_that_fit_and_refuse_others(estimator, tmp_path, monkeypatch):
    X, y = make()
    X, qid = sparse.csr_matrix(X), np.arange(len(y)) % 30
    blocks = write_blocks((X, y, None, qid), tmp_path / "small.blocks", block_bytes=10000)
    small = estimator(Cs=[0.1, 1.0], rule="one_standard_error").fit(blocks)
    groups = {"qid": qid} if estimator is LinearRankSVMCV else {}
    whole = estimator(Cs=[0.1, 1.0], rule="one_standard_error").fit(X, y, **groups)
    assert small.C_ == whole.C_
    np.testing.assert_array_equal(small.coef_, whole.coef_)
    monkeypatch.setattr("maxmargin.io.blocks.LOADED_SHARE", 0.0)
    with pytest.raises(ValueError, match=f"{estimator.__name__} over blocks needs rows that fit"):
        estimator(Cs=[0.1, 1.0], rule="one_standard_error").fit(blocks)


def test_a_class_that_most_blocks_lack_is_learned(stream):
    X, y = make(rows=900, classes=3)  # sorted by class
    blocks = stream(X, y, block_bytes=2000)
    assert max(len(np.unique(block.y)) for block in blocks.blocks()) < 3
    model = LinearSVC(C=0.1).fit(blocks)
    assert model.converged_
    assert model.score(X, y) == pytest.approx(LinearSVC(C=0.1).fit(X, y).score(X, y), abs=0.01)


def test_more_blocks_than_rows_in_each_are_fine(stream):
    X, y = make(rows=40)
    blocks = stream(X, y, block_bytes=1)
    assert blocks.n_blocks == 40
    exact = LinearSVC(tol=1e-9).fit(X, y).primal_objective_
    for solver in ("dcd", "newton"):
        model = LinearSVC(solver=solver).fit(blocks)
        assert model.converged_
        assert model.primal_objective_ == pytest.approx(exact, rel=1e-3)


def test_a_part_without_a_class_is_a_problem_of_the_others(stream):
    X, y = make(rows=300, classes=3)
    model = LinearSVC().fit(stream(X, y)[y < 2])
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="one class only"):
        LinearSVC().fit(stream(X, y)[y == 1])


def test_fits_that_are_cut_short_are_certified_and_never_worse_than_zero(stream):
    X, y = make()
    blocks = stream(X, y)
    problem = BinaryProblem(X, 2 * y - 1, 1.0, loss="hinge", bias=1.0)
    for solver in ("dcd", "newton"):
        for limits in ({"max_iter": 1}, {"max_iter": 3}, {"time_limit": 1e-9}):
            with pytest.warns(match="the fit ended with a certified gap"):
                model = LinearSVC("hinge", solver=solver, tol=1e-12, **limits).fit(blocks)
            assert not model.converged_
            weights = np.append(model.coef_, model.intercept_)
            primal, dual = problem.certificate(weights, problem.alpha_of(signed(model)[0]))
            assert model.primal_objective_ == pytest.approx(primal, rel=1e-9)
            assert model.dual_objective_ == pytest.approx(dual, rel=1e-9, abs=1e-9)
            assert primal <= problem.primal(np.zeros(13)) * (1 + 1e-12)


def test_an_interrupt_leaves_no_thread_behind(stream, monkeypatch):
    from maxmargin.solvers.streamed import newton

    blocks = stream(*make())

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(newton._Newton, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        LinearSVC().fit(blocks)
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("maxmargin")] == []


def test_what_does_not_stream_says_what_it_needs(stream):
    X, y = make()
    blocks = stream(X, y)
    for model, message in (
        (LinearSVC(penalize_intercept=False), "needs rows that fit within the memory limit"),
        (LinearSVC(warm_start=True), "warm_start=True over blocks needs"),
        (LinearSVC(penalty="l1"), "penalty=.l1. over blocks needs rows that fit"),
        (LinearSVC(checkpoint="here"), "a checkpoint over blocks needs"),
        (LinearSVC(solver="avsf"), "solver='avsf' does not stream"),
        (LinearSVC(solver=DualCoordinateDescent(epsilon=0.1)), "epsilon=0.1 of solver='dcd' does not stream"),
        (LinearSVC(solver=DualCoordinateDescent(order="cyclic")), "order='cyclic' of solver='dcd' does not stream"),
        (LinearSVC(shrinking=False, solver="dcd"), "shrinking=False of solver='dcd' does not stream"),
        (LinearSVC("hinge", solver="pegasos"), "solver='pegasos' does not stream"),
        (LinearSVC(solver="eg", multi_class="crammer_singer"), "use 'auto' or 'sdm'"),
        (OneClassSVM(), "OneClassSVM over blocks needs rows that fit"),
    ):
        with pytest.raises(ValueError, match=message):
            model.fit(blocks)
    wide = stream(sparse.eye(1100, 1100, format="csr"), np.arange(1100) % 2)
    for model, instead in ((LinearSVC(solver="newton"), "solver='dcd'"), (LinearSVC(dual=False), "dual='auto'")):
        with pytest.raises(ValueError, match=f"takes up to 1024 features.*use {instead}"):
            model.fit(wide)
    with pytest.raises(ValueError, match=r"epsilon=0\.1 of solver='cutting_plane' does not stream"):
        LinearRankSVM(solver=CuttingPlane(epsilon=0.1)).fit(blocks)


def test_wrong_sizes_and_labels_are_named(stream):
    X, y = make()
    blocks = stream(X, y)
    with pytest.raises(ValueError, match="y must have shape"):
        LinearSVC().fit(blocks, y[:-1])
    with pytest.raises(ValueError, match="sample_weight must be finite and not negative"):
        LinearSVC().fit(blocks, sample_weight=-np.ones(len(y)))
    with pytest.raises(ValueError, match="sample_weight must be positive for at least one row"):
        LinearSVC().fit(blocks, sample_weight=np.zeros(len(y)))
    with pytest.raises(ValueError, match="C must lie between"):
        LinearSVC(C=1e300).fit(blocks)
    with pytest.raises(ValueError, match="the model was fitted with 12 features"):
        LinearSVC().fit(blocks).predict(stream(X[:, :5], y))
    with pytest.raises(ValueError, match="y must hold numbers to predict"):
        LinearSVR().fit(stream(X, y.astype(str)))


def test_callbacks_hear_of_every_round_and_may_stop(stream):
    from maxmargin.problems.losses import LOSSES
    from maxmargin.solvers.streamed.newton import newton_streamed
    from maxmargin.solvers.streamed.stream import Limits, Margins
    from maxmargin.training.block_stream import BlockStream

    X, y = make()
    heard = []

    def callback(report, weights):
        heard.append((report, weights))
        return len(heard) == 3

    rows = BlockStream(stream(X, y), classes=np.array([0, 1]))
    problems = Margins([1], LOSSES["hinge"], 1.0)
    [solution] = newton_streamed(rows, problems, Limits(tol=1e-12, callbacks=[callback]))
    assert solution.exit == "stopped"
    assert [report.epoch for report, _ in heard] == [1, 2, 3]
    gaps = [report.gap for report, _ in heard]
    assert gaps == sorted(gaps, reverse=True)


def test_dual_variables_that_do_not_fit_are_left_out(stream, monkeypatch):
    from maxmargin.training import streaming

    X, y = make()
    monkeypatch.setattr(streaming, "DUAL_SHARE", 0.0)
    model = LinearSVC().fit(X, y)
    model.fit(stream(X, y))
    assert model.converged_
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(LinearRankSVM().fit(stream(X, y.astype(float))), "dual_coef_")


@pytest.mark.parametrize("solver", ["dcd", "newton"])
def test_support_vectors_are_counted_where_dual_variables_are_left_out(stream, monkeypatch, solver):
    from maxmargin.training import streaming

    X, y = make(classes=3)

    def fits():
        return [
            LinearSVC("hinge", solver=solver).fit(stream(X, y)),
            LinearSVC(solver=solver).fit(stream(X, np.minimum(y, 1))),
            LinearSVR(solver=solver).fit(stream(X, X[:, 0] + 0.1 * y)),
            LinearRankSVM().fit(stream(X, y.astype(float))),
        ]

    kept = fits()
    monkeypatch.setattr(streaming, "DUAL_SHARE", 0.0)
    for model, other in zip(kept, fits(), strict=True):
        assert model.n_support_.sum() == len(model.support_) > 0
        assert not hasattr(other, "dual_coef_")
        assert np.array_equal(model.n_support_, other.n_support_)


def test_where_newton_stalls_dual_descent_goes_on(stream):
    """With the hinge, few rows per feature and a large C, Newton's steps become too short."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 100))
    y = (X[:, 0] + rng.normal(size=150) > 0).astype(int)
    with pytest.warns(ConvergenceWarning, match="made no more progress.*use another solver"):
        alone = LinearSVC("hinge", C=100.0, solver="newton").fit(stream(X, y))
    model = LinearSVC("hinge", C=100.0).fit(stream(X, y))
    assert model.solver_used_ == "newton over blocks+dcd over blocks"
    assert model.converged_
    assert model.n_iter_ > alone.n_iter_
    problem = BinaryProblem(X, 2 * y - 1, 100.0, loss="hinge", bias=1.0)
    weights = np.append(model.coef_, model.intercept_)
    primal, dual = problem.certificate(weights, problem.alpha_of(signed(model)[0]))
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-9)
    assert model.dual_objective_ == pytest.approx(dual, rel=1e-9)
    assert dual <= solve(problem, tol=1e-9).certificate.primal <= primal * (1 + 1e-9)


def test_a_path_takes_blocks_that_fit_with_their_own_labels(tmp_path):
    X, y = make(rows=100)
    write_blocks((X, y), tmp_path / "rows.blocks")
    path = svm_path(open_blocks(tmp_path / "rows.blocks"), Cs=[0.1, 1.0])
    np.testing.assert_allclose(path.coefs, svm_path(X, y, [0.1, 1.0]).coefs, rtol=1e-9)
    with pytest.raises(ValueError, match="y is missing"):
        svm_path(X)
