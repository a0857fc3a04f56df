"""Methods as objects: what they are, what they refuse, and that the settings of the papers do what the papers say."""

import json
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import maxmargin
from maxmargin import (
    ActiveSet,
    Auto,
    BinaryProblem,
    CuttingPlane,
    DualCoordinateDescent,
    ExponentiatedGradient,
    LinearRankSVM,
    LinearSVC,
    MulticlassProblem,
    Newton,
    OneClassProblem,
    Pegasos,
    PrimalCoordinateDescent,
    RankingProblem,
    SequentialDual,
    WorkingSets,
    load_model,
    save_model,
    solve,
)
from maxmargin.problems.losses import LOSSES
from maxmargin.solvers.methods import METHODS, SOLVERS, method_of, method_of_json, method_to_json, solvers_for

from ..conftest import LOSS_NAMES, csr, random_problem
from ..io.test_model_file import forged
from ..truth import free_bias_optimum, multiclass_optimum, optimum

#: Every class with its defaults and with every option changed.
OBJECTS = [
    Auto(),
    Auto(dual=True),
    Auto(dual=False, shrinking=False),
    DualCoordinateDescent(),
    DualCoordinateDescent(
        order="cyclic", shrinking=False, resting=False, averaging=False, anchoring=False, plane=False, epsilon=0.1
    ),
    DualCoordinateDescent(order="shuffled"),
    DualCoordinateDescent(order="uniform"),
    DualCoordinateDescent(order="adaptive"),
    Newton(),
    PrimalCoordinateDescent(),
    PrimalCoordinateDescent(plane=False),
    CuttingPlane(),
    CuttingPlane(acceleration=False, keep_cuts=True, epsilon=1e-3),
    CuttingPlane(measure="precision_at_k", k=3),
    Pegasos(),
    Pegasos(averaging=True, projection=False),
    SequentialDual(),
    SequentialDual(adaptive=False, shrinking=False, effort=5.0, little_gain=0.0),
    ExponentiatedGradient(),
    WorkingSets(),
    WorkingSets(screening=False),
    ActiveSet(),
]
objects = pytest.mark.parametrize("method", OBJECTS, ids=str)
#: Orders that visit every row once an epoch, to which rule (17) applies.
SWEEPS = ["cyclic", "shuffled", "permuted"]


def twin(method):
    return type(method)(**method.options())


@objects
def test_methods_are_equal_by_class_and_options_and_so_are_their_hashes(method):
    assert twin(method) == method
    assert twin(method) is not method
    assert hash(twin(method)) == hash(method)
    assert [other for other in OBJECTS if other == method] == [method]
    assert {twin(other) for other in OBJECTS} == set(OBJECTS)


@objects
def test_the_repr_of_a_method_evaluates_to_it(method):
    assert eval(repr(method), vars(maxmargin).copy()) == method


@objects
def test_a_method_cannot_be_changed(method):
    for name in [*method.options(), "order"]:
        with pytest.raises(FrozenInstanceError):
            setattr(method, name, None)


@objects
def test_a_method_comes_back_from_json(method):
    data = json.loads(json.dumps(method_to_json(method)))
    assert method_of_json(data) == method
    assert method.options() == {field.name: getattr(method, field.name) for field in fields(method)}


def test_every_short_name_is_the_name_of_its_method():
    assert {name: method.name for name, method in SOLVERS.items()} == {name: name for name in SOLVERS}
    assert {type(method) for method in OBJECTS} == set(METHODS.values())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DualCoordinateDescent(order="random"), "order='random' is unknown; choose from"),
        (lambda: DualCoordinateDescent(order=None), "order=None is unknown"),
        (lambda: DualCoordinateDescent(shrinking=1), "shrinking must be True or False, not 1"),
        (lambda: DualCoordinateDescent(averaging="no"), "averaging must be True or False"),
        (lambda: DualCoordinateDescent(anchoring=None), "anchoring must be True or False"),
        (lambda: DualCoordinateDescent(epsilon=0.0), "epsilon must be a positive number or None"),
        (lambda: DualCoordinateDescent(epsilon=-1), "epsilon must be a positive number or None"),
        (lambda: DualCoordinateDescent(epsilon=float("nan")), "epsilon must be a positive number or None"),
        (lambda: DualCoordinateDescent(epsilon=float("inf")), "epsilon must be a positive number or None"),
        (lambda: DualCoordinateDescent(epsilon="0.1"), "epsilon must be a positive number or None"),
        (lambda: DualCoordinateDescent(order="uniform", epsilon=0.1), "epsilon needs an order that visits every row"),
        (lambda: DualCoordinateDescent(order="adaptive", epsilon=0.1), "not 'adaptive'"),
        (lambda: PrimalCoordinateDescent(plane=2), "plane must be True or False"),
        (lambda: Pegasos(averaging=0), "averaging must be True or False"),
        (lambda: Pegasos(projection="x"), "projection must be True or False"),
        (lambda: CuttingPlane(acceleration="x"), "acceleration must be True or False"),
        (lambda: CuttingPlane(keep_cuts=1), "keep_cuts must be True or False"),
        (lambda: CuttingPlane(epsilon=0), "epsilon must be a positive number or None"),
        (lambda: SequentialDual(adaptive=1), "adaptive must be True or False"),
        (lambda: SequentialDual(shrinking="x"), "shrinking must be True or False"),
        (lambda: SequentialDual(effort=0.0), "effort must be a positive number"),
        (lambda: SequentialDual(effort=float("nan")), "effort must be a positive number"),
        (lambda: SequentialDual(little_gain=1.0), "little_gain must be a share"),
        (lambda: SequentialDual(little_gain=-0.1), "little_gain must be a share"),
        (lambda: Auto(dual="yes"), "dual must be True, False or None"),
        (lambda: Auto(shrinking=0), "shrinking must be True or False"),
    ],
)
def test_bad_options_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("value", ["2", None, "x", [1]])
@pytest.mark.parametrize("name", ["effort", "little_gain"])
def test_options_that_are_no_numbers_are_refused_as_bad_values(name, value):
    with pytest.raises(ValueError, match=name):
        SequentialDual(**{name: value})


@pytest.mark.parametrize("value", [1, 0, 1.0])
def test_auto_takes_true_and_false_and_not_numbers_for_dual(value):
    with pytest.raises(ValueError, match="dual must be True, False or None"):
        Auto(dual=value)


PROBLEMS = [
    *(("binary", loss, penalize) for loss in LOSS_NAMES for penalize in (True, False)),
    *((kind, None, True) for kind in ("crammer_singer", "weston_watkins", "ranking")),
]


@pytest.mark.parametrize(("kind", "loss", "penalize_bias"), PROBLEMS)
def test_what_a_method_refuses_names_what_would_work(kind, loss, penalize_bias):
    """A refusal lists methods, and each of those listed does solve the problem."""
    loss = None if loss is None else LOSSES[loss]
    X, y = random_problem(rows=20, features=3, seed=1)
    if kind == "binary":
        problem = BinaryProblem(X, y, 0.01, loss=loss, bias=1.0, penalize_bias=penalize_bias)
    elif kind == "ranking":
        problem = RankingProblem(X, y, 0.01)
    else:
        problem = MulticlassProblem(X, (y > 0).astype(int), 0.01, formulation=kind, bias=1.0)
    works = solvers_for(kind, loss, penalize_bias)
    for name in works:
        assert solve(problem, name, tol=0.1).converged
    for name, method in SOLVERS.items():
        for solver in (name, method):
            if name in works:
                assert method_of(solver, kind, loss, penalize_bias) == method
                continue
            assert method.refuses(kind, loss, penalize_bias)
            with pytest.raises(ValueError, match=r"does not take this problem: it .*; choose from") as error:
                solve(problem, solver)
            assert str(works) in str(error.value)


def test_what_is_no_method_is_refused_with_the_names_of_methods():
    problem = BinaryProblem(*random_problem())
    with pytest.raises(ValueError, match=r"solver='DCD' is unknown; choose from .*'dcd'"):
        solve(problem, "DCD")
    for solver in (None, 3, DualCoordinateDescent):
        with pytest.raises(TypeError, match="solver must be a name or a method object"):
            solve(problem, solver)


@pytest.mark.parametrize(
    ("method", "kind", "reason"),
    [
        (DualCoordinateDescent(), "ranking", "it solves binary problems"),
        (ExponentiatedGradient(), "weston_watkins", "it solves problems of Crammer & Singer"),
        (SequentialDual(), "binary", "problems of Crammer & Singer and problems of Weston & Watkins"),
        (CuttingPlane(), "weston_watkins", "problems of Crammer & Singer and ranking problems"),
        (Auto(dual=True), "ranking", "no dual method"),
    ],
    ids=str,
)
def test_refusals_say_what_a_method_does_solve(method, kind, reason):
    assert reason in method.refuses(kind)


def test_refusals_of_losses_and_of_a_free_bias_say_why():
    assert "loss='hinge' only, not with 'squared_hinge'" in Pegasos().refuses("binary", LOSSES["squared_hinge"])
    assert "outside the regulariser" in Pegasos().refuses("binary", LOSSES["hinge"], False)
    assert "outside the regulariser" in CuttingPlane().refuses("binary", LOSSES["hinge"], False)


#: Settings of the papers, and the options of this library turned off one by one.
DESCENTS = [
    DualCoordinateDescent(order="cyclic", shrinking=False),
    DualCoordinateDescent(order="cyclic"),
    DualCoordinateDescent(order="shuffled"),
    DualCoordinateDescent(order="permuted", shrinking=False),
    DualCoordinateDescent(order="adaptive", averaging=False),
    DualCoordinateDescent(order="uniform"),
    DualCoordinateDescent(anchoring=False),
    DualCoordinateDescent(resting=False),
    DualCoordinateDescent(order="adaptive", anchoring=False),
    DualCoordinateDescent(
        order="cyclic", shrinking=False, resting=False, averaging=False, anchoring=False, plane=False
    ),
]


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("method", DESCENTS, ids=str)
def test_every_setting_of_dual_coordinate_descent_reaches_the_optimum(method, loss):
    X, y = random_problem(rows=30, features=4, seed=2)
    for C in (0.05, 2.0):
        problem = BinaryProblem(X, y, C, loss=loss, bias=1.0)
        solution = solve(problem, method, tol=1e-7, max_iter=10**6)
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(optimum(X, y, C, loss, 1.0), rel=1.1e-7)
        free = BinaryProblem(X, y, C, loss=loss, bias=1.0, penalize_bias=False)
        solution = solve(free, method, tol=1e-7, max_iter=10**6)
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(free_bias_optimum(X, y, C, loss), rel=1.1e-7)


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("order", SWEEPS)
def test_rule_17_with_a_small_epsilon_ends_at_the_optimum(order, shrinking, loss):
    X, y = random_problem(rows=30, features=4, seed=3)
    method = DualCoordinateDescent(order=order, shrinking=shrinking, epsilon=1e-9)
    for C, bias in ((0.05, 0.0), (1.0, 1.0)):
        problem = BinaryProblem(csr(X), y, C, loss=loss, bias=bias)
        solution = solve(problem, method, tol=0, max_iter=10**6)
        assert solution.exit == "epsilon" or solution.certificate.gap == 0
        assert solution.certificate.primal == pytest.approx(optimum(X, y, C, loss, bias), rel=1e-8)


def projected_gradients(problem, alpha):
    """Eq. 8 of the paper at w(alpha), for the rows that take part."""
    loss = problem.loss
    G = -(1 - problem.margins(problem.weights(alpha))) + loss.diagonal_times_C / problem.C * alpha
    lower, upper = loss.lower_per_C, loss.upper(problem.C)
    return np.where(alpha <= lower, np.minimum(G, 0), np.where(alpha >= upper, np.maximum(G, 0), G))


@pytest.mark.parametrize("epsilon", [1.0, 0.1, 1e-3])
@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("order", SWEEPS)
def test_rule_17_bounds_the_spread_of_projected_gradients(order, shrinking, loss, epsilon):
    """The rule looks at each row before its step; the steps of that epoch move the others by as much again."""
    X, y = random_problem(rows=60, features=5, seed=4)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    problem = BinaryProblem(X, y, 1.0, loss=loss)
    method = DualCoordinateDescent(order=order, shrinking=shrinking, epsilon=epsilon)
    solution = solve(problem, method, tol=0, max_iter=10**6)
    assert solution.exit == "epsilon"
    spread = np.ptp(np.append(projected_gradients(problem, solution.alpha), 0.0))
    assert spread <= 3 * epsilon
    looser = solve(problem, DualCoordinateDescent(order=order, shrinking=shrinking, epsilon=10 * epsilon), tol=0)
    assert looser.n_iter <= solution.n_iter
    assert looser.exit == "epsilon"


def test_a_stop_by_a_rule_of_a_paper_is_no_convergence_and_no_shortfall():
    X, y = random_problem(rows=60, features=5, seed=5)
    model = LinearSVC(solver=DualCoordinateDescent(epsilon=0.5), tol=1e-12).fit(X, y)  # without any warning
    assert not model.converged_
    assert model.duality_gap_ > 1e-12


def algorithm_1(X, y, C, loss, epochs):
    """Algorithm 1 of Hsieh et al. as printed: rows in turn, no shrinking, no bias."""
    D, U = {"hinge": (0.0, C), "squared_hinge": (1 / (2 * C), np.inf)}[loss]
    alpha, w = np.zeros(len(y)), np.zeros(X.shape[1])
    Q = (X * X).sum(axis=1) + D
    for _ in range(epochs):
        for i in range(len(y)):
            G = y[i] * (w @ X[i]) - 1 + D * alpha[i]
            PG = min(G, 0) if alpha[i] == 0 else max(G, 0) if alpha[i] == U else G
            if PG != 0:
                before, alpha[i] = alpha[i], min(max(alpha[i] - G / Q[i], 0), U)
                w += (alpha[i] - before) * y[i] * X[i]
    return alpha


@pytest.mark.parametrize("epochs", [1, 3, 20])
@pytest.mark.parametrize("C", [0.1, 1.0, 50.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_the_cyclic_order_without_shrinking_is_algorithm_1_as_printed(loss, C, epochs):
    X, y = random_problem(rows=40, features=6, seed=6)
    truth = algorithm_1(X, y, C, loss, epochs)
    for matrix in (X, csr(X)):
        problem = BinaryProblem(matrix, y, C, loss=loss)
        printed = DualCoordinateDescent(order="cyclic", shrinking=False, resting=False, plane=False)
        solution = solve(problem, printed, tol=0, max_iter=epochs)
        assert solution.n_iter == epochs
        np.testing.assert_allclose(solution.alpha, truth, rtol=0, atol=1e-12 * max(truth.max(), 1.0))


@pytest.mark.parametrize("epsilon", [1e-2, 1e-3, 1e-6])
@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_the_paper_s_cutting_planes_end_when_no_constraint_is_violated_by_more_than_epsilon(C, epsilon):
    X, y = random_problem(rows=40, features=4, seed=7)
    problem = BinaryProblem(X, y, C, loss="hinge", bias=1.0)
    method = CuttingPlane(acceleration=False, keep_cuts=True, epsilon=epsilon)
    solution = solve(problem, method, tol=0)
    assert solution.exit == "epsilon" or solution.certificate.gap == 0
    primal, dual = problem.certificate(solution.weights, solution.alpha)
    assert primal - dual <= epsilon * problem.C.sum() * (1 + 1e-9)
    truth = optimum(X, y, C, "hinge", 1.0)
    assert primal <= truth + epsilon * problem.C.sum() * (1 + 1e-9)


@pytest.mark.parametrize("method", [CuttingPlane(keep_cuts=True), CuttingPlane(acceleration=False)], ids=str)
def test_every_setting_of_cutting_planes_reaches_the_optimum(method):
    X, y = random_problem(rows=40, features=4, seed=8)
    solution = solve(BinaryProblem(X, y, 0.5, loss="hinge", bias=1.0), method, tol=1e-7)
    assert solution.converged
    assert solution.certificate.primal == pytest.approx(optimum(X, y, 0.5, "hinge", 1.0), rel=1.1e-7)


@pytest.mark.parametrize("epsilon", [1e-1, 1e-3])
def test_epsilon_of_cutting_planes_ends_rankings_and_classes_too(epsilon):
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    method = CuttingPlane(acceleration=False, keep_cuts=True, epsilon=epsilon)
    ranking = solve(RankingProblem(X, y, 10.0), method, tol=0)
    assert ranking.exit == "epsilon"
    assert ranking.certificate.primal - ranking.certificate.dual <= epsilon * 10.0 * (1 + 1e-9)
    classes = solve(MulticlassProblem(X, y, 1.0), method, tol=0)
    assert classes.exit == "epsilon" or classes.certificate.gap == 0
    assert classes.certificate.primal - classes.certificate.dual <= epsilon * 60.0 * (1 + 1e-9)


@pytest.mark.parametrize("formulation", ["crammer_singer", "weston_watkins"])
@pytest.mark.parametrize(
    "method",
    [
        SequentialDual(adaptive=False, effort=5.0, little_gain=0.0),
        SequentialDual(adaptive=False, shrinking=False),
        SequentialDual(shrinking=False),
        SequentialDual(effort=0.1, little_gain=0.9),
    ],
    ids=str,
)
def test_every_setting_of_the_sequential_dual_method_reaches_the_optimum(method, formulation):
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(24, 3)), rng.integers(0, 3, 24)
    for C in (0.05, 1.0):
        problem = MulticlassProblem(X, y, C, formulation=formulation, bias=1.0)
        solution = solve(problem, method, tol=1e-7, max_iter=10**6)
        assert solution.converged
        assert solution.certificate.primal == pytest.approx(multiclass_optimum(X, y, C, formulation, 1.0), rel=1.1e-7)


@pytest.mark.parametrize("name", list(SOLVERS))
def test_names_and_objects_give_the_same_bits(name):
    kinds = ("binary", "l1", "crammer_singer", "one_class")
    kind = next(kind for kind in kinds if kind in SOLVERS[name].kinds)
    X, y = random_problem(rows=80, features=6, seed=11)
    loss = "hinge" if "hinge" in SOLVERS[name].losses else "squared_hinge"
    if kind == "one_class":
        problem = OneClassProblem(X + 1.0, 0.2)
    elif kind != "crammer_singer":
        problem = BinaryProblem(X, y, 2.0, loss=loss, bias=1.0, penalty="l1" if kind == "l1" else "l2")
    else:
        problem = MulticlassProblem(X, (y > 0) + 0, 2.0, formulation=kind, bias=1.0)
    by_name, by_object = (
        solve(problem, solver, tol=1e-4, max_iter=50, seed=4) for solver in (name, twin(SOLVERS[name]))
    )
    assert np.array_equal(by_name.weights, by_object.weights)
    assert by_name.certificate == by_object.certificate
    assert by_name.n_iter == by_object.n_iter


def test_avsf_is_the_adaptive_order_and_online_the_uniform_one():
    assert SOLVERS["avsf"] == DualCoordinateDescent(order="adaptive")
    assert SOLVERS["online"] == DualCoordinateDescent(order="uniform")


CLASSIFIERS = [
    {"solver": DualCoordinateDescent(order="cyclic", shrinking=False)},
    {"solver": PrimalCoordinateDescent(plane=False)},
    {"solver": Pegasos(averaging=True), "loss": "hinge", "tol": 0.05},
    {"solver": CuttingPlane(acceleration=False), "loss": "hinge"},
    {"solver": SequentialDual(adaptive=False, effort=5.0), "multi_class": "weston_watkins"},
    {"solver": ExponentiatedGradient(), "multi_class": "crammer_singer", "tol": 0.05},
    {"solver": Auto(dual=True)},
]


@pytest.mark.parametrize("parameters", CLASSIFIERS, ids=lambda parameters: str(parameters["solver"]))
def test_method_objects_are_parameters_of_estimators_like_any_other(parameters, tmp_path):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(60, 4))
    y = np.array(["a", "b", "c"])[(X @ rng.normal(size=(4, 3))).argmax(axis=1)]
    model = LinearSVC(C=0.1, **parameters)
    assert model.get_params()["solver"] is parameters["solver"]
    copy = clone(model)
    assert copy.solver == parameters["solver"]
    model.fit(X, y)
    assert model.converged_
    assert np.array_equal(copy.fit(X, y).coef_, model.coef_)
    save_model(model, tmp_path / "a.mm")
    again = load_model(tmp_path / "a.mm")
    assert again.get_params() == model.get_params()
    assert type(again.solver) is type(model.solver)
    assert np.array_equal(again.decision_function(X), model.decision_function(X))
    assert eval(repr(again), {**vars(maxmargin)}).get_params() == model.get_params()
    model.set_params(solver="auto")
    assert model.solver == "auto"


def test_method_objects_of_rankings_come_back_from_files(tmp_path):
    rng = np.random.default_rng(13)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, 60)
    method = CuttingPlane(acceleration=False, keep_cuts=True)
    model = clone(LinearRankSVM(C=3.0, solver=method)).fit(X, y)
    assert model.converged_
    assert model.get_params()["solver"] == method
    assert model.primal_objective_ == pytest.approx(LinearRankSVM(C=3.0).fit(X, y).primal_objective_, rel=2e-3)
    save_model(model, tmp_path / "a.mm")
    assert load_model(tmp_path / "a.mm").solver == method
    with pytest.raises(ValueError, match=r"binary problems .*; choose from \['auto', 'cutting_plane'\]"):
        LinearRankSVM(solver=DualCoordinateDescent()).fit(X, y)


def test_a_grid_search_tries_method_objects():
    X, y = random_problem(rows=90, features=4, seed=14)
    solvers = ["dcd", DualCoordinateDescent(order="cyclic"), DualCoordinateDescent(order="adaptive", averaging=False)]
    search = GridSearchCV(LinearSVC(tol=1e-8), {"solver": solvers, "C": [0.01, 1.0]}, cv=3).fit(X, y)
    assert [entry["solver"] for entry in search.cv_results_["params"]] == solvers * 2
    scores = search.cv_results_["mean_test_score"].reshape(2, 3)
    assert np.ptp(scores, axis=1).max() == 0  # one optimum
    assert search.best_estimator_.solver in solvers


@pytest.mark.parametrize("solver", ["auto", "dcd", DualCoordinateDescent(order="cyclic")], ids=str)
def test_only_files_with_method_objects_need_a_new_version_to_read_them(solver, tmp_path):
    X, y = random_problem()
    versions = []
    for multi_class in ("ovr", "crammer_singer"):
        if multi_class != "ovr" and solver != "auto":
            continue
        save_model(LinearSVC(solver=solver, multi_class=multi_class).fit(X, y), tmp_path / "a.mm")
        forged((tmp_path / "a.mm").read_bytes(), lambda header, _: versions.append(header["format"]))
    if solver == "auto":
        save_model(LinearRankSVM().fit(X, y), tmp_path / "a.mm")
        forged((tmp_path / "a.mm").read_bytes(), lambda header, _: versions.append(header["format"]))
    assert all(version <= 3 if isinstance(solver, str) else version == 4 for version in versions)


FORGERIES = {
    "unknown method": {"method": "Magic", "options": {}},
    "a class of another kind": {"method": "Method", "options": {}},
    "no text": {"method": 5, "options": {}},
    "unknown option": {"method": "Newton", "options": {"exec": "import os"}},
    "bad choice": {"method": "DualCoordinateDescent", "options": {"order": "random"}},
    "bad number": {"method": "DualCoordinateDescent", "options": {"epsilon": -1}},
    "bad flag": {"method": "Pegasos", "options": {"averaging": 1}},
    "an option of another type": {"method": "SequentialDual", "options": {"effort": "much"}},
    "a nested option": {"method": "SequentialDual", "options": {"effort": [2.0]}},
    "options a list": {"method": "Newton", "options": []},
    "no options": {"method": "Newton"},
    "more": {"method": "Newton", "options": {}, "more": 1},
    "nothing": {},
}


@pytest.mark.parametrize("solver", FORGERIES.values(), ids=FORGERIES)
def test_forged_methods_in_files_are_refused(solver, tmp_path):
    X, y = random_problem()
    path = tmp_path / "a.mm"
    save_model(LinearSVC(solver=DualCoordinateDescent(order="cyclic")).fit(X, y), path)

    def change(header, _):
        header["parameters"]["solver"] = solver

    path.write_bytes(forged(path.read_bytes(), change))
    with pytest.raises(ValueError, match=r"a\.mm: its solver cannot be used"):
        load_model(path)


def test_a_list_in_place_of_a_method_is_refused(tmp_path):
    X, y = random_problem()
    path = tmp_path / "a.mm"
    save_model(LinearSVC(solver=Newton()).fit(X, y), path)
    path.write_bytes(forged(path.read_bytes(), lambda header, _: header["parameters"].update(solver=["Newton"])))
    with pytest.raises(ValueError, match="no proper parameter 'solver'"):
        load_model(path)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_steps_in_a_plane_save_epochs_where_rows_are_alike(loss, bias):
    """Rows with a large part in common can only move together, which single steps do slowly."""
    rng = np.random.default_rng(3)
    common = rng.normal(size=200)
    X = common + 0.5 * rng.normal(size=(400, 200))
    y = np.where(X @ rng.normal(size=200) + 5 * rng.normal(size=400) > 0, 1, -1)
    problem = BinaryProblem(X, y, 0.1, loss=loss, bias=bias)
    with_plane, without = (solve(problem, DualCoordinateDescent(plane=plane), tol=1e-4) for plane in (True, False))
    assert with_plane.converged
    assert without.converged
    assert with_plane.n_iter < without.n_iter
    assert with_plane.certificate.primal == pytest.approx(without.certificate.primal, rel=2e-4)


def test_the_best_weights_on_a_line_are_never_worse_than_the_iterates():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 40))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, 1, -1)
    problem = BinaryProblem(X, y, 10.0)
    values = {}
    for plane in (True, False):
        method = DualCoordinateDescent(order="adaptive", averaging=False, plane=plane)  # curved: no steps in a plane
        values[plane] = [r.primal for r in solve(problem, method, tol=1e-6, max_iter=30, report_passes=0.1).history]
    pairs = list(zip(values[True], values[False], strict=False))
    assert len(pairs) >= 20
    assert all(line <= plain * (1 + 1e-12) for line, plain in pairs)
    assert any(line < 0.99 * plain for line, plain in pairs)
