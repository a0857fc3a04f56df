"""What users read when a fit falls short: true, and with advice that helps."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from maxmargin import Certificate, LinearRankSVM, LinearSVC
from maxmargin.solvers.solution import EXITS, describe_gap, describe_shortfall

from ..conftest import LOSS_NAMES, csr, random_problem

LIMITS = {"max_iter": "raise max_iter (now 3)", "time_limit": "raise time_limit (now 1 s)"}


def warning_of(model, *data, **options):
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(*data, **options)
    texts = [str(entry.message) for entry in caught if issubclass(entry.category, ConvergenceWarning)]
    assert len(texts) == 1
    assert caught[0].filename == __file__  # the user's line
    return texts[0]


def factor_of(text):
    """By which factor the objective may lie above the optimum, by the words of a message; None if nothing is said."""
    share = re.search(r"at most (\S+) % above the optimum", text)
    if share:
        return 1 + float(share[1]) / 100
    times = re.search(r"up to (\S+) times the optimum", text)
    if times:
        return float(times[1])
    assert "Nothing is proved about the optimum yet, but that it is not negative." in text
    return None


@pytest.mark.parametrize(
    ("primal", "dual", "expected"),
    [
        (100.0, 98.0, "The objective is at most 2.04 % above the optimum."),
        (100.0, 50.0, "The objective is at most 100 % above the optimum."),
        (100.0, 49.9, "The objective is up to 2 times the optimum."),
        (100.0, 20.0, "The objective is up to 5 times the optimum."),
        (100.0, 1e-3, "The objective is up to 1e+05 times the optimum."),
        (100.0, 1e-5, "Nothing is proved about the optimum yet, but that it is not negative."),
        (100.0, 0.0, "Nothing is proved about the optimum yet, but that it is not negative."),
        (1e-300, 0.0, "Nothing is proved about the optimum yet, but that it is not negative."),
    ],
)
def test_a_gap_in_words(primal, dual, expected):
    assert describe_gap(primal, dual) == expected


def test_the_words_agree_with_the_numbers_whatever_they_are():
    rng = np.random.default_rng(1)
    for primal, share in zip(10.0 ** rng.uniform(-200, 200, 300), rng.random(300) ** 8, strict=True):
        dual = primal * share
        factor = factor_of(describe_gap(primal, dual))
        if factor is None:
            assert share <= 1e-6
        else:
            # three digits are said
            assert factor * dual == pytest.approx(primal, rel=6e-3)


@pytest.mark.filterwarnings("error")
def test_a_problem_whose_optimum_is_zero_has_words_too():
    assert describe_gap(0.0, 0.0) == describe_gap(1.0, 1.0) == "The objective is the optimum."
    assert describe_gap(5e-324, 0.0).startswith("Nothing is proved")


@pytest.mark.parametrize("C", [0.3, 10.0, 1e3])
@pytest.mark.parametrize("max_iter", [1, 3, 10])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_what_a_warning_says_about_the_optimum_is_true(loss, max_iter, C):
    X, y = random_problem(rows=80, features=6, seed=2, noise=2.0)
    truth = LinearSVC(loss, C=C, tol=1e-9, max_iter=10**6).fit(X, y)
    assert truth.converged_
    for solver in ("dcd", "avsf", "online"):
        model = LinearSVC(loss, C=C, solver=solver, tol=1e-13, max_iter=max_iter)
        text = warning_of(model, X, y)
        factor = factor_of(text)
        if factor is not None:
            assert model.primal_objective_ <= factor * truth.primal_objective_ * (1 + 6e-3)
        assert f"a certified gap of {model.duality_gap_:.2e} instead of tol=1e-13" in text
        assert f"raise max_iter (now {max_iter})" in text
        assert "time_limit" not in text


def test_warnings_of_all_strengths_do_occur():
    X, y = random_problem(rows=80, features=6, seed=3, noise=2.0)
    seen = set()
    for C in (0.1, 1.0, 1e3, 1e9):
        for max_iter in (1, 2, 5, 50):
            text = warning_of(LinearSVC("hinge", C=C, solver="dcd", tol=1e-14, max_iter=max_iter), 10 * X, y)
            seen.add(next(word for word in ("at most", "up to", "Nothing is proved") if word in text))
    assert seen == {"at most", "up to", "Nothing is proved"}


def test_the_warning_of_several_classes_is_that_of_the_worst():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(90, 4)), rng.integers(0, 3, 90)
    model = LinearSVC(solver="dcd", C=100.0, tol=1e-13, max_iter=3)
    text = warning_of(model, X, y)
    assert f"{model.duality_gap_.max():.2e}" in text
    for multi_class in ("crammer_singer", "weston_watkins"):
        model = LinearSVC(multi_class=multi_class, solver="sdm", C=100.0, tol=1e-13, max_iter=2)
        text = warning_of(model, X, y)
        assert f"{model.duality_gap_:.2e}" in text


def test_time_limits_are_named_in_their_advice():
    X, y = random_problem(rows=400, features=20, seed=5)
    for model in (
        LinearSVC("hinge", C=1e5, tol=1e-14, time_limit=1e-9),
        LinearSVC("hinge", C=1e5, tol=1e-14, time_limit=1e-9, multi_class="crammer_singer"),
        LinearRankSVM(C=1e5, tol=1e-14, time_limit=1e-9),
    ):
        text = warning_of(model, X, y)
        assert "because time_limit was reached" in text
        assert "raise time_limit (now 1e-09 s)" in text
        assert "max_iter" not in text


@pytest.mark.parametrize("scales", [None, "The columns of X are on different scales: column 3."])
@pytest.mark.parametrize("exit_", list(EXITS))
@pytest.mark.parametrize("dual", [0.0, 1e-9, 0.3, 0.999, 1.0])
def test_a_shortfall_says_why_and_advises_only_what_helps(exit_, dual, scales):
    text = describe_shortfall(exit_, Certificate(1.0, dual), 1e-9, LIMITS, scales)
    if exit_ in ("converged", "stopped", "epsilon"):
        assert text is None
        return
    assert EXITS[exit_] in text
    assert describe_gap(1.0, dual) in text
    assert (scales or "different scales") in text or scales is None
    if exit_ == "rounding":
        assert "max_iter" not in text
        assert "time_limit" not in text
        assert "More iterations would not help; lower C" in text
        assert ("or scale the columns" in text) == (scales is None)
    elif exit_ == "stalled":
        assert "max_iter" not in text
        assert "time_limit" not in text
        assert "More iterations would not help; use another solver" in text
    else:
        other = "time_limit" if exit_ == "max_iter" else "max_iter"
        assert LIMITS[exit_] in text
        assert other not in text


def test_where_rounding_ends_a_fit_nobody_advises_max_iter(monkeypatch):
    """In binary problems some method always gets further, so the solution says so here."""
    import dataclasses

    from maxmargin.training import classification

    original = classification.solve

    def short(*arguments, **options):
        return dataclasses.replace(original(*arguments, **options), exit="rounding")

    monkeypatch.setattr(classification, "solve", short)
    X, y = random_problem(rows=60)
    for data in ((X, y), (X, np.arange(60) % 3)):
        text = warning_of(LinearSVC(tol=1e-13, solver="dcd", max_iter=3), *data)
        assert "because rounding errors do not allow more" in text
        assert "max_iter" not in text
        assert "lower C" in text


def test_where_rounding_ends_newton_on_classes_nobody_advises_max_iter():
    X, _ = random_problem(rows=60, features=6, seed=3)
    model = LinearSVC(multi_class="crammer_singer", dual=False, C=1e10, tol=1e-12, max_iter=200)
    text = warning_of(model, 1e4 * X, np.arange(60) % 3)
    assert "because rounding errors do not allow more" in text
    assert "max_iter" not in text


def test_columns_on_different_scales_are_named_by_their_names():
    pandas = pytest.importorskip("pandas")
    X, y = random_problem(rows=80, features=3, seed=6)
    frame = pandas.DataFrame(X * [1.0, 5000.0, 1.0], columns=["age", "income", "rooms"])
    text = warning_of(LinearSVC("hinge", C=1e3, tol=1e-13, solver="dcd", max_iter=2), frame, y)
    assert "'income' is around" in text
    text = warning_of(LinearSVC("hinge", C=1e3, tol=1e-13, solver="dcd", max_iter=2), frame.to_numpy(), y)
    assert "column 1 is around" in text


def test_raising_max_iter_as_advised_does_help():
    X, y = load_breast_cancer(return_X_y=True)
    X = X / np.abs(X).max(axis=0)
    model = LinearSVC("hinge", C=10.0, solver="dcd", max_iter=2)
    assert "raise max_iter (now 2)" in warning_of(model, X, y)
    short = model.duality_gap_
    model.set_params(max_iter=10_000).fit(X, y)  # without any warning
    assert model.converged_
    assert model.duality_gap_ < short


@pytest.mark.filterwarnings("error")
def test_fits_that_converge_or_are_asked_to_stop_say_nothing():
    X, y = random_problem()
    for loss in LOSS_NAMES:
        assert LinearSVC(loss).fit(X, y).converged_
    assert LinearRankSVM().fit(X, y).converged_


def test_class_weights_of_classes_that_are_not_there_get_a_warning():
    X, _ = random_problem(rows=60)
    y = np.array(["cat", "dog"])[np.arange(60) % 2]
    with pytest.warns(UserWarning, match=r"class_weight names 'dgo', which is not a class of y.*'cat', 'dog'"):
        model = LinearSVC(class_weight={"dgo": 3.0}).fit(X, y)
    assert np.array_equal(model.coef_, LinearSVC(class_weight={}).fit(X, y).coef_)
    many = np.arange(60) % 12
    with pytest.warns(UserWarning, match=r"class_weight names 99.*, \.\.\."):
        LinearSVC(class_weight={99: 3.0}).fit(X, many)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("storage", [np.asarray, csr])
@pytest.mark.parametrize("classes", [2, 3])
def test_rows_to_score_that_are_not_finite_are_refused_even_where_weights_are_zero(bad, storage, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    model = LinearSVC().fit(X, np.arange(40) % classes)
    model.coef_[:, 1] = 0.0
    X[5, 1] = bad
    with pytest.raises(ValueError, match="NaN" if np.isnan(bad) else "infinity"):
        model.predict(storage(X))


def test_rows_whose_scores_overflow_are_no_error():
    model = LinearSVC().fit(np.array([[1.0], [-1.0]]), [1, 0])
    model.coef_[:] = 1e300
    assert model.decision_function(np.array([[1e300], [1.0]])).tolist() == [np.inf, 1e300]


@pytest.mark.parametrize("storage", [np.asarray, csr])
def test_rows_to_score_of_another_shape_are_refused_in_scikit_learns_words(storage):
    model = LinearSVC().fit(np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match=r"X has 2 features, but LinearSVC is expecting 3 features"):
        model.predict(storage(np.ones((4, 2))))
    with pytest.raises(ValueError, match=r"0 sample"):
        model.predict(storage(np.ones((0, 3))))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("storage", [np.asarray, csr])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"loss": "hinge", "solver": "avsf"},
        {"loss": "hinge", "solver": "cutting_plane"},
        {"solver": "newton"},
        {"solver": "pcd"},
        {"penalty": "l1"},
        {"multi_class": "crammer_singer"},
        {"multi_class": "weston_watkins"},
        {"time_limit": 1e-6},
    ],
)
def test_rows_to_train_on_that_are_not_finite_are_refused_in_scikit_learns_words(bad, storage, options):
    X = np.random.default_rng(0).normal(size=(60, 4))
    X[5, 1] = bad
    for sample_weight in (None, np.where(np.arange(60) == 5, 0.0, 1.0)):
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            LinearSVC(**options).fit(storage(X), np.arange(60) % 3, sample_weight)
