import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.svm import LinearSVC as TheirLinearSVC

from maxmargin import DualCoordinateDescent, LinearSVC, MulticlassProblem, Newton

from ..conftest import SOLVER_LOSSES, csr, random_problem

BINARY_SETS = {
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True),
    "iris_versicolor_virginica": lambda: (load_iris().data[50:], load_iris().target[50:]),
    "digits_odd_even": lambda: (load_digits().data / 16, load_digits().target % 2),
}


@pytest.fixture(params=list(BINARY_SETS))
def real_binary(request):
    X, y = BINARY_SETS[request.param]()
    return StandardScaler().fit_transform(X), y


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_equals_scikit_learns_linear_svc_at_tight_tolerance(real_binary, loss, C):
    X, y = real_binary
    ours = LinearSVC(loss, C=C, tol=1e-9).fit(X, y)
    theirs = TheirLinearSVC(loss=loss, C=C, dual=True, tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-4)


def test_a_nearly_free_intercept_equals_svc(real_binary):
    X, y = real_binary
    ours = LinearSVC("hinge", C=0.1, tol=1e-9, intercept_scaling=1000).fit(X, y)
    theirs = SVC(kernel="linear", C=0.1, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-3)
    assert set(theirs.support_) <= set(ours.support_)


@pytest.mark.parametrize(("loss", "kind"), [("hinge", 3), ("squared_hinge", 1)])
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_objective_is_never_above_liblinears(real_binary, loss, kind, C):
    from liblinear.liblinearutil import parameter, problem, train

    X, y = real_binary
    y = np.where(y == y.max(), 1.0, -1.0)
    model = train(problem(y, sp.csr_matrix(X), 1.0), parameter(f"-s {kind} -c {C} -B 1 -e 1e-6 -q"))
    w = np.array(model.w[: X.shape[1] + 1]) * model.label[0]
    slack = np.maximum(1 - y * (X @ w[:-1] + w[-1]), 0)
    theirs = 0.5 * w @ w + C * (slack if loss == "hinge" else slack**2).sum()
    ours = LinearSVC(loss, C=C, tol=1e-6).fit(X, y)
    assert ours.primal_objective_ <= theirs * (1 + 1e-6)
    assert ours.dual_objective_ <= theirs * (1 + 1e-12)


@pytest.mark.parametrize(("solver", "loss"), SOLVER_LOSSES)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("labels", [("no", "yes"), ("a", "b", "c")])
def test_coef_is_near_dual_coef_times_X(solver, loss, fit_intercept, labels):
    X, _ = random_problem(rows=90, features=5, seed=1)
    y = np.array(labels)[np.arange(90) % len(labels)]
    model = LinearSVC(loss, solver=solver, fit_intercept=fit_intercept, tol=1e-4).fit(csr(X), y)
    problems = 1 if len(labels) == 2 else len(labels)
    assert model.dual_coef_.shape == (problems, 90)
    assert model.coef_.shape == (problems, 5)
    assert_near_its_dual(model, X)
    assert fit_intercept or not model.intercept_.any()
    assert list(model.support_) == sorted(set(model.dual_coef_.nonzero()[1]))
    assert model.n_support_.sum() == len(model.support_)
    assert len(model.n_support_) == len(labels)
    assert np.shape(model.duality_gap_) == (() if problems == 1 else (problems,))
    assert np.all(model.duality_gap_ <= 1e-4)
    assert model.converged_
    assert len(model.history_) >= 1


def test_gap_is_the_formula_of_the_documentation():
    X, y = random_problem()
    model = LinearSVC("hinge").fit(X, y)
    w = np.append(model.coef_, model.intercept_)
    primal = 0.5 * w @ w + np.maximum(1 - y * model.decision_function(X), 0).sum()
    dual = np.abs(model.dual_coef_).sum() - 0.5 * w @ w
    assert model.primal_objective_ == pytest.approx(primal, rel=1e-12)
    assert model.dual_objective_ == pytest.approx(dual, rel=1e-12)
    assert model.duality_gap_ == pytest.approx((primal - dual) / primal, rel=1e-6)


@pytest.mark.parametrize("solver", ["auto", "dcd", "avsf", "online"])
def test_any_number_of_threads_gives_the_same_bits(solver):
    X, y = load_digits(return_X_y=True)
    models = [LinearSVC("hinge", solver=solver, C=0.01, n_jobs=n_jobs).fit(X / 16, y) for n_jobs in (None, 2, 5, -1)]
    for model in models[1:]:
        assert np.array_equal(model.coef_, models[0].coef_)
        assert np.array_equal(model.intercept_, models[0].intercept_)
        assert (model.dual_coef_ != models[0].dual_coef_).nnz == 0


def test_one_versus_rest_is_one_binary_problem_per_class():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LinearSVC("hinge", tol=1e-8).fit(X, y)
    for k in range(3):
        alone = LinearSVC("hinge", tol=1e-8).fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], atol=1e-5)
        assert model.primal_objective_[k] == pytest.approx(alone.primal_objective_, rel=2e-8)
    assert model.score(X, y) > 0.98
    assert len(model.history_) == len(model.solver_used_) == 3


@pytest.mark.parametrize("n_classes", [2, 3])
def test_class_weight_equals_sample_weight_equals_repetition(n_classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < n_classes], y[y < n_classes]
    class_weight = {0: 1, 1: 3, 2: 2}
    options = {"loss": "hinge", "tol": 1e-9}
    by_class = LinearSVC(class_weight={k: class_weight[k] for k in range(n_classes)}, **options).fit(X, y)
    weights = np.array([class_weight[label] for label in y])
    by_sample = LinearSVC(**options).fit(X, y, sample_weight=weights)
    repeated = np.repeat(np.arange(len(y)), weights)
    by_repetition = LinearSVC(**options).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(by_class.coef_, by_sample.coef_, atol=1e-5)
    np.testing.assert_allclose(by_class.primal_objective_, by_repetition.primal_objective_, rtol=1e-8)


def test_balanced_class_weight_equals_the_weights_spelled_out():
    X, y = random_problem(rows=100, features=4)
    y[:60] = 1
    count = np.bincount(y == 1)
    balanced = LinearSVC("hinge", class_weight="balanced", tol=1e-9).fit(X, y)
    spelled = LinearSVC("hinge", class_weight={-1: 50 / count[0], 1: 50 / count[1]}, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(balanced.coef_, spelled.coef_, atol=1e-6)


def test_warm_start_needs_fewer_epochs_and_refuses_other_rows():
    X, y = random_problem(rows=500, features=30, seed=2)
    model = LinearSVC("hinge", solver="dcd", C=0.1, tol=1e-5, warm_start=True).fit(X, y)
    model.set_params(C=0.101).fit(X, y)
    cold = LinearSVC("hinge", solver="dcd", C=0.101, tol=1e-5).fit(X, y)
    assert model.n_iter_ < 0.7 * cold.n_iter_
    assert model.primal_objective_ == pytest.approx(cold.primal_objective_, rel=2e-5)
    with pytest.raises(ValueError, match="warm_start=True continues from 500 rows"):
        model.fit(X[:400], y[:400])


def test_time_limit_covers_all_classes_and_warns_with_the_gap():
    X, _ = random_problem(rows=3000, features=60, noise=10.0)
    labels = np.arange(3000) % 4
    model = LinearSVC("hinge", solver="dcd", C=1e4, tol=1e-12, max_iter=10**9, time_limit=0.4)
    with pytest.warns(
        ConvergenceWarning, match=r"certified gap of .* because time_limit was reached.*raise time_limit"
    ):
        model.fit(X, labels)
    assert not model.converged_
    assert np.all(np.isfinite(model.duality_gap_))


def test_max_iter_warns_with_the_gap_and_what_to_do():
    X, y = random_problem(rows=500, features=30)
    with pytest.warns(
        ConvergenceWarning, match=r"certified gap of .* instead of tol=1e-10.*raise max_iter \(now 2\)"
    ) as got:
        LinearSVC("hinge", solver="dcd", tol=1e-10, max_iter=2).fit(X, y)
    assert got[0].filename == __file__


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_data_frames_and_their_names(frame):
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    X = frame(dict(zip(names, data.data.T, strict=True)))
    model = LinearSVC(C=0.1).fit(X, data.target)
    assert list(model.feature_names_in_) == names
    assert model.n_features_in_ == 30
    np.testing.assert_allclose(model.coef_, LinearSVC(C=0.1).fit(data.data, data.target).coef_)
    assert model.score(X, data.target) > 0.9
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[names[::-1]])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(np.ones((5, 2)), np.ones(4))
    assert model.n_features_in_ == 30


def test_pickle_clone_and_parameters():
    X, y = random_problem()
    model = LinearSVC("hinge", C=3.0, solver="avsf").fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert clone(model).get_params() == model.get_params()
    assert repr(LinearSVC(C=2.0)) == "LinearSVC(C=2.0)"
    with pytest.raises(NotFittedError):
        clone(model).predict(X)


def test_works_in_pipelines_and_searches():
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), LinearSVC("hinge"))
    assert cross_val_score(pipeline, X, y).mean() > 0.95
    search = GridSearchCV(pipeline, {"linearsvc__C": [0.01, 1.0]}).fit(X, y)
    assert search.best_score_ > 0.95


def test_scores_are_those_of_plain_numpy(storage):
    X, y = random_problem(rows=80, features=6, density=0.5)
    for labels in (y, np.arange(80) % 3):
        model = LinearSVC().fit(X, labels)
        expected = X @ model.coef_.T + model.intercept_
        np.testing.assert_allclose(model.decision_function(storage(X)), np.squeeze(expected), atol=1e-12)
        assert set(model.predict(X)) <= set(labels)


@pytest.mark.parametrize("kind", ["csc_array", "coo_array", "lil_array", "csr_matrix", "dok_array", "bsr_array"])
def test_other_sparse_formats_are_converted(kind):
    X, y = random_problem(density=0.4)
    model = LinearSVC(tol=1e-8).fit(getattr(sp, kind)(X), y)
    np.testing.assert_allclose(model.coef_, LinearSVC(tol=1e-8).fit(X, y).coef_, atol=1e-6)


@pytest.mark.parametrize(
    "convert", [np.asfortranarray, lambda X: X.tolist(), lambda X: (10 * X).astype(int), lambda X: X.astype(np.float16)]
)
def test_other_dense_input_is_converted(convert):
    X, y = random_problem()
    assert LinearSVC().fit(convert(X), y).converged_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, "'C' parameter"),
        ({"C": -1.0}, "'C' parameter"),
        ({"C": np.inf}, "'C' parameter"),
        ({"loss": "logistic"}, "'loss' parameter"),
        ({"solver": "sgd"}, "'solver' parameter"),
        ({"multi_class": "one_versus_one"}, "'multi_class' parameter"),
        ({"multi_class": "crammer_singer", "solver": "dcd"}, "it solves binary problems .*; choose from"),
        ({"multi_class": "weston_watkins", "solver": "eg"}, r"choose from \['auto', 'newton', 'sdm'\]"),
        ({"multi_class": "weston_watkins", "loss": "least_squares"}, "which is a hinge loss"),
        ({"solver": "sdm"}, "it solves problems of Crammer & Singer and problems of Weston & Watkins; choose from"),
        ({"solver": Newton}, "'solver' parameter"),
        ({"solver": DualCoordinateDescent(), "shrinking": False}, "DualCoordinateDescent has its own option"),
        ({"penalty": "l1", "loss": "hinge"}, "the losses for penalty='l1' are"),
        ({"penalty": "elasticnet"}, "'penalty' parameter"),
        ({"loss": "l2"}, "is a penalty; the first argument is the loss, one of"),
        ({"dual": "yes"}, "'dual' parameter"),
        ({"dual": True, "solver": "newton"}, "dual=True contradicts solver='newton', which works on the weights"),
        ({"dual": False, "solver": "dcd"}, "which works on the dual variables"),
        ({"tol": -1e-3}, "'tol' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"intercept_scaling": 0.0}, "'intercept_scaling' parameter"),
        ({"penalize_intercept": False, "fit_intercept": False}, "no meaning with fit_intercept=False"),
        ({"penalize_intercept": False, "intercept_scaling": 2.0}, "no meaning with penalize_intercept=False"),
        ({"penalize_intercept": False, "multi_class": "crammer_singer"}, "needs multi_class='ovr'"),
        (
            {"penalize_intercept": False, "solver": "cutting_plane", "loss": "hinge"},
            "knows no intercept outside the regulariser; choose from",
        ),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"class_weight": {-1: -1.0, 1: 1.0}}, "class_weight must be finite and not negative"),
    ],
)
def test_bad_parameters_are_refused_with_a_message(parameters, message):
    X, y = random_problem()
    with pytest.raises(ValueError, match=message):
        LinearSVC(**parameters).fit(X, y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, _: (X, np.ones(60)), "one class only"),
        (lambda X, y: (np.where(np.arange(8) == 3, np.nan, X), y), "NaN"),
        (lambda X, y: (np.where(np.arange(8) == 3, np.inf, X), y), "infinity"),
        (lambda X, y: (csr(np.where(np.arange(8) == 3, np.nan, X)), y), "NaN"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X[:, :0], y), "0 feature"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X[0], y), "2D array"),
        (lambda X, _: (X, X[:, 0]), "Unknown label type: continuous"),
        (lambda X, y: (1e300 * X, y), "too large"),
    ],
)
def test_bad_data_are_refused_with_a_message(change, message):
    X, y = change(*random_problem())
    with pytest.raises(ValueError, match=message):
        LinearSVC().fit(X, y)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full(60, -1.0), "[Nn]egative"),
        (np.zeros(60), "at least one non-zero"),
        (np.ones(3), "shape"),
        (np.full(60, np.nan), "NaN"),
    ],
)
def test_bad_sample_weights_are_refused_with_a_message(weights, message):
    X, y = random_problem()
    with pytest.raises(ValueError, match=message):
        LinearSVC().fit(X, y, sample_weight=weights)


def test_balanced_weights_ignore_rows_and_classes_without_weight():
    X, _ = random_problem(rows=60, features=4)
    y = np.arange(60) % 3
    weighted = LinearSVC("hinge", class_weight="balanced", tol=1e-8).fit(X, y, sample_weight=(y != 2) * 1.0)
    without = LinearSVC("hinge", class_weight="balanced", tol=1e-8).fit(X[y != 2], y[y != 2])
    np.testing.assert_allclose(weighted.coef_[1], without.coef_[0], atol=1e-4)


def test_prediction_refuses_another_number_of_features():
    X, y = random_problem()
    with pytest.raises(ValueError, match="X has 7 features, but LinearSVC is expecting 8"):
        LinearSVC().fit(X, y).predict(X[:, :7])


def test_a_failed_fit_leaves_the_previous_one_usable():
    X, y = random_problem()
    model = LinearSVC().fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="too large"):
        model.fit(1e300 * X, np.arange(60) % 3)
    assert np.array_equal(model.predict(X), before)


def test_numpy_scalars_as_parameters():
    from sklearn.model_selection import GridSearchCV

    X, y = random_problem()
    grid = {"tol": np.logspace(-3, -2, 2), "C": np.logspace(-1, 1, 2), "max_iter": np.array([9000, 10_000])}
    assert GridSearchCV(LinearSVC("hinge", solver="dcd"), grid, cv=2).fit(X, y).best_score_ > 0.5


def test_more_features_than_memory_for_their_weights():
    X = sp.csr_array((np.ones(2), np.array([0, 10**14]), np.array([0, 1, 2])), shape=(2, 10**14 + 1))
    with pytest.raises(MemoryError, match="renumber the features"):
        LinearSVC().fit(X, [0, 1])


def assert_near_its_dual(model, X):
    """The distance that the gap allows: |w - w(alpha)|^2 <= 4 (P - D) for each problem."""
    squares = ((model.dual_coef_ @ X - model.coef_) ** 2).sum(axis=1)
    gaps = np.atleast_1d(model.primal_objective_ - model.dual_objective_)
    two_classes_in_one = len(gaps) == 1 and len(squares) == 1 and model.multi_class != "ovr"
    if len(squares) == len(gaps):
        assert np.all(squares <= (8 if two_classes_in_one else 4) * gaps + 1e-14)
    else:
        assert squares.sum() <= 4 * gaps.sum() + 1e-14


JOINT = ["crammer_singer", "weston_watkins"]


@pytest.mark.parametrize("multi_class", JOINT)
def test_one_problem_over_all_classes(multi_class):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = LinearSVC(multi_class=multi_class, C=0.5, tol=1e-6, intercept_scaling=2.0).fit(X, names)
    assert model.coef_.shape == (3, 4)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert isinstance(model.primal_objective_, float)
    assert model.duality_gap_ <= 1e-6
    assert model.solver_used_ == "sdm+newton"
    assert {report.solver for report in model.history_} == {"sdm", "newton"}
    assert model.dual_coef_.shape == (3, 150)
    assert_near_its_dual(model, X)
    assert model.score(X, names) > 0.93
    assert model.n_support_.sum() == len(model.support_)
    problem = MulticlassProblem(X, y, 0.5, formulation=multi_class, bias=2.0)
    weights = np.column_stack([model.coef_, model.intercept_ / 2.0])
    assert problem.primal(weights) == pytest.approx(model.primal_objective_, rel=1e-10)


@pytest.mark.parametrize("multi_class", JOINT)
def test_two_classes_in_one_problem_have_one_weight_vector(multi_class):
    X, y = load_breast_cancer(return_X_y=True)
    X = np.ascontiguousarray(X / X.std(axis=0))
    model = LinearSVC(multi_class=multi_class, C=0.05, tol=1e-8).fit(X, y)
    binary = LinearSVC("hinge", C=0.1, tol=1e-8).fit(X, y)
    assert model.coef_.shape == (1, 30)
    assert model.decision_function(X).shape == (len(y),)
    np.testing.assert_allclose(model.coef_, binary.coef_, atol=1e-3)
    assert_near_its_dual(model, X)
    warm = LinearSVC(multi_class=multi_class, C=0.05, tol=1e-7, warm_start=True)
    warm.fit(X, y)
    first = warm.n_iter_
    assert warm.fit(X, y).n_iter_ < first


@pytest.mark.parametrize("multi_class", JOINT)
def test_weights_of_classes_and_rows_in_one_problem(multi_class):
    X, y = load_iris(return_X_y=True)
    sample_weight = np.random.default_rng(0).integers(0, 3, len(y))
    sample_weight[[0, 60, 120]] = 1
    common = {"multi_class": multi_class, "tol": 1e-7, "max_iter": 100_000}
    weighted = LinearSVC(class_weight={2: 3.0}, **common).fit(X, y, sample_weight)
    times = np.where(y == 2, 3, 1) * sample_weight
    repeated = LinearSVC(**common).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=1e-6)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=5e-3)


@pytest.mark.parametrize("solver", ["auto", "sdm", "newton", "eg", "cutting_plane"])
def test_solvers_of_one_problem_meet(solver):
    X, y = load_iris(return_X_y=True)
    model = LinearSVC(multi_class="crammer_singer", solver=solver, tol=1e-3, max_iter=100_000).fit(X, y)
    best = LinearSVC(multi_class="crammer_singer", tol=1e-7, max_iter=100_000).fit(X, y)
    assert model.converged_
    assert best.primal_objective_ <= model.primal_objective_ * (1 + 1e-7)
    assert model.primal_objective_ <= best.primal_objective_ * 1.0011


def test_warm_start_of_one_problem():
    X, y = load_iris(return_X_y=True)
    model = LinearSVC(multi_class="weston_watkins", tol=1e-6, warm_start=True, max_iter=100_000).fit(X, y)
    cold = model.n_iter_
    assert model.fit(X, y).n_iter_ < cold
    with pytest.raises(ValueError, match="weight vectors"):
        model.fit(X[:100], y[:100])
