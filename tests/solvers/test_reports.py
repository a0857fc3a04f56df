"""Reports: as often as asked for, in order, exact, and what ``verbose`` prints of them."""

import itertools
import re

import numpy as np
import pytest

from maxmargin import BinaryProblem, LinearRankSVM, LinearSVC, MulticlassProblem, RankingProblem, solve
from maxmargin.problems.losses import LOSSES
from maxmargin.solvers.methods import solvers_for

from ..conftest import LOSS_NAMES, csr, random_problem

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

COMBINATIONS = [
    *(
        ("binary", solver, loss, penalize)
        for loss in LOSS_NAMES
        for penalize in (True, False)
        for solver in solvers_for("binary", LOSSES[loss], penalize)
    ),
    *(
        (kind, solver, None, True)
        for kind in ("crammer_singer", "weston_watkins", "ranking")
        for solver in solvers_for(kind)
    ),
]
every_fit = pytest.mark.parametrize(("kind", "solver", "loss", "penalize_bias"), COMBINATIONS)


def problem_of(kind, loss=None, penalize_bias=True, C=10.0, rows=120, features=6, store=np.ascontiguousarray):
    X, y = random_problem(rows=rows, features=features, seed=1, noise=2.0)
    if kind == "binary":
        return BinaryProblem(store(X), y, C, loss=loss, bias=1.0, penalize_bias=penalize_bias)
    labels = np.random.default_rng(2).integers(0, 3, rows)
    if kind == "ranking":
        return RankingProblem(store(X), labels, C, qid=np.arange(rows) % 4)
    return MulticlassProblem(store(X), labels, C / 10, formulation=kind, bias=1.0)


@pytest.mark.parametrize(
    ("kind", "solver", "loss"),
    [
        *(("binary", solver, loss) for solver in ("dcd", "avsf", "online") for loss in LOSS_NAMES),
        ("binary", "pegasos", "hinge"),
        *(("crammer_singer", solver, None) for solver in ("sdm", "eg")),
        ("weston_watkins", "sdm", None),
    ],
)
def test_a_report_per_pass_means_one_for_every_epoch(kind, solver, loss):
    for C in (0.1, 100.0):
        # the work of shrunk epochs is less than a pass; without tolerance nothing else ends the fit
        solution = solve(problem_of(kind, loss, C=C), solver, tol=0, max_iter=20, report_passes=1e-9)
        epochs = [report.epoch for report in solution.history]
        assert set(range(1, solution.n_iter + 1)) <= set(epochs)
        whole = solve(problem_of(kind, loss, C=C), solver, tol=0, max_iter=3, report_passes=1.0)
        assert [report.epoch for report in whole.history][:1] == [1]


@every_fit
def test_an_interval_in_passes_or_seconds_gives_reports_and_changes_no_optimum(kind, solver, loss, penalize_bias):
    problem = problem_of(kind, loss, penalize_bias, C=0.05)
    tol = 0.05 if solver in ("pegasos", "eg") else 1e-6
    plain = solve(problem, solver, tol=tol)
    for interval in ({"report_passes": 1.0}, {"report_seconds": 1e-7}, {"report_passes": 1e9, "report_seconds": 1e9}):
        solution = solve(problem, solver, tol=tol, **interval)
        assert solution.converged
        assert solution.history
        assert solution.certificate.primal == pytest.approx(plain.certificate.primal, rel=2 * tol)
        if interval == {"report_seconds": 1e-7}:
            assert len(solution.history) >= len(plain.history)


@pytest.mark.parametrize("store", [np.ascontiguousarray, csr], ids=["dense", "csr"])
@every_fit
def test_every_report_is_true_of_the_weights_that_come_with_it(kind, solver, loss, penalize_bias, store):
    problem = problem_of(kind, loss, penalize_bias, store=store)
    seen = []
    solution = solve(
        problem,
        solver,
        tol=1e-5,
        max_iter=60,
        report_passes=1.0,
        callback=lambda report, weights: seen.append((report, weights)),
    )
    assert [report for report, _ in seen] == solution.history
    for report, weights in seen:
        assert weights.shape == solution.weights.shape
        assert report.primal == pytest.approx(problem.primal(weights), rel=1e-9)
        assert 0 <= report.dual <= report.primal
        assert report.gap == pytest.approx((report.primal - report.dual) / report.primal, abs=1e-15)
        assert report.dual <= solution.certificate.primal * (1 + 1e-12)
        assert report.active >= 0
    last = solution.history[-1]
    # the bounds that are returned are looked at once more, and may be better
    assert solution.certificate.primal <= last.primal * (1 + 1e-12)
    assert solution.certificate.dual >= last.dual - 1e-12 * last.primal


@every_fit
def test_time_and_epochs_only_grow_and_checks_are_a_part_of_the_time(kind, solver, loss, penalize_bias):
    solution = solve(problem_of(kind, loss, penalize_bias), solver, tol=1e-6, max_iter=40, report_passes=1.0)
    for report in solution.history:
        assert 0 <= report.check_seconds <= report.seconds <= solution.seconds
        assert set(report.solver.split("+")) <= set(solution.solver.split("+"))
    for before, after in itertools.pairwise(solution.history):
        assert after.check_seconds >= before.check_seconds
        assert after.seconds >= before.seconds
        assert after.epoch >= before.epoch
        assert after.primal <= before.primal * (1 + 1e-12)
        assert after.dual >= before.dual - 1e-12 * before.primal
    assert solution.history[-1].check_seconds <= solution.check_seconds <= solution.seconds
    assert solution.history[-1].epoch <= solution.n_iter


def lines_of(capsys):
    return capsys.readouterr().out.splitlines()


LINE = re.compile(r"primal (\S+)  dual (\S+)  gap (\S+)  active (\d+)$")


def assert_lines_make_sense(lines):
    assert lines
    without_seconds = [re.sub(r"\S+ s  primal", "primal", line) for line in lines]
    assert [line for line, again in itertools.pairwise(without_seconds) if line == again] == []
    for line in lines:
        primal, dual, gap = (float(number) for number in LINE.search(line).groups()[:3])
        assert np.isfinite([primal, dual, gap]).all(), line
        assert dual >= 0, line
        assert dual <= primal * (1 + 2e-6), line  # six digits
        assert 0 <= gap <= 1, line


@pytest.mark.parametrize("C", [1.0, 1e6])
@pytest.mark.parametrize(("kind", "solver", "loss", "penalize_bias"), COMBINATIONS)
def test_verbose_prints_no_line_twice_and_no_senseless_number(kind, solver, loss, penalize_bias, C, capsys):
    X, y = random_problem(rows=80, features=5, seed=3, noise=2.0)
    labels = np.random.default_rng(4).integers(0, 3, 80)
    options = {"C": C, "tol": 1e-6, "max_iter": 30, "solver": solver, "verbose": 1}
    if kind == "binary":
        LinearSVC(loss, penalize_intercept=penalize_bias, **options).fit(X, y)
    elif kind == "ranking":
        LinearRankSVM(**options).fit(X, labels)
    else:
        LinearSVC(multi_class=kind, **options).fit(X, labels)
    assert_lines_make_sense(lines_of(capsys))


@pytest.mark.parametrize("solver", ["auto", "dcd", "avsf", "newton"])
def test_verbose_names_the_class_of_one_versus_the_rest(solver, capsys):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(90, 4)), np.array(["ash", "oak", "yew"])[rng.integers(0, 3, 90)]
    model = LinearSVC(solver=solver, verbose=1, C=10.0).fit(X, y)
    lines = lines_of(capsys)
    assert_lines_make_sense(lines)
    for name, history in zip(["ash", "oak", "yew"], model.history_, strict=True):
        printed = [line for line in lines if line.startswith(f"class {name}: ")]
        assert set(printed) <= {f"class {name}: {report}" for report in history}
        assert printed[-1] == f"class {name}: {history[-1]}"
    assert all(line.startswith("class ") for line in lines)


@pytest.mark.parametrize(("C", "solver"), [(100.0, "auto"), (1.0, "newton"), (100.0, "dcd")])
def test_verbose_prints_neither_an_epoch_nor_its_values_again(C, solver, capsys):
    X, y = random_problem(rows=600, features=40, seed=3, noise=2.0)
    model = LinearSVC("hinge", C=C, solver=solver, tol=1e-9, max_iter=2000, verbose=1).fit(X, y)
    lines = lines_of(capsys)
    epochs = [line.partition(" s ")[0].split()[:3] for line in lines]
    values = [line.partition("primal")[2].partition("active")[0] for line in lines]
    assert len({tuple(epoch) for epoch in epochs}) == len(epochs)
    assert all(before != after for before, after in itertools.pairwise(values))
    # Nothing is lost by that: the last values are there, and so are all others but those that the same epoch replaced.
    assert values[-1] == str(model.history_[-1]).partition("primal")[2].partition("active")[0]
    last = {(report.solver, report.epoch): report for report in model.history_}
    told = [str(report).partition("primal")[2].partition("active")[0] for report in last.values()]
    assert values == [value for value, _ in itertools.groupby(told)]


def test_verbose_names_no_class_where_there_is_one_problem_and_0_prints_nothing(capsys):
    X, y = random_problem(rows=60)
    for multi_class in ("ovr", "crammer_singer"):
        LinearSVC(verbose=1, multi_class=multi_class).fit(X, y)
        lines = lines_of(capsys)
        assert lines
        assert not any("class" in line for line in lines)
    LinearSVC(verbose=0).fit(X, y)
    assert lines_of(capsys) == []


@pytest.mark.parametrize("multi_class", ["ovr", "crammer_singer", "weston_watkins"])
@pytest.mark.parametrize("C", [0.1, 1e4])
def test_the_history_of_an_estimator_only_gets_better(multi_class, C):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(120, 5)), rng.integers(0, 4, 120)
    loss = LOSSES["hinge"]
    kind = "binary" if multi_class == "ovr" else multi_class
    for solver in solvers_for(kind, loss):
        model = LinearSVC("hinge", C=C, multi_class=multi_class, solver=solver, tol=1e-6, max_iter=30).fit(X, y)
        histories = model.history_ if multi_class == "ovr" else [model.history_]
        for history, primal in zip(histories, np.atleast_1d(model.primal_objective_), strict=True):
            for before, after in itertools.pairwise(history):
                assert after.primal <= before.primal * (1 + 1e-12), solver
                assert after.dual >= before.dual - 1e-12 * before.primal, solver
                assert after.gap <= before.gap + 1e-12, solver
            assert primal <= history[-1].primal * (1 + 1e-12)
