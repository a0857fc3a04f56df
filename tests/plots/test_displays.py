"""Pictures show the numbers they claim to show."""

import re

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    ConfusionDisplay,
    HistoryDisplay,
    LinearRankSVM,
    LinearSVC,
    LinearSVCCV,
    PathDisplay,
    ScoreDisplay,
    TopFeaturesDisplay,
    plot_history,
    plot_path,
    svm_path,
)
from maxmargin.plots.drawing import blank_figure, new_axes, save_figure

from ..conftest import random_problem
from ..problems.test_ranking import ranking


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def lines(ax):
    """What the lines with more than two points show."""
    return [line.get_xydata() for line in ax.get_lines() if len(line.get_xydata()) > 2]


def test_histories_show_the_reports():
    X, y = random_problem(rows=200, seed=1, noise=2.0)
    model = LinearSVC("hinge", solver="dcd", tol=1e-6, C=1.0).fit(X, y)
    display = HistoryDisplay.from_estimator(model)
    gap, objective = display.axes_
    [shown] = lines(gap)
    np.testing.assert_array_equal(shown, [(report.seconds, report.gap) for report in model.history_])
    assert gap.get_yscale() == "log"
    primal, dual = lines(objective)
    np.testing.assert_array_equal(primal[:, 1], [report.primal for report in model.history_])
    np.testing.assert_array_equal(dual[:, 1], [report.dual for report in model.history_])
    alone = plot_history(model, kind="gap", x="epoch").axes_
    assert len(alone) == 1
    np.testing.assert_array_equal(lines(alone[0])[0][:, 0], [report.epoch for report in model.history_])
    [less] = lines(plot_history(model, kind="gap", subtract_checks=True).axes_[0])
    np.testing.assert_allclose(less[:, 0], [r.seconds - r.check_seconds for r in model.history_])


def test_histories_of_several_classes_and_of_rankers():
    X, y = load_digits(return_X_y=True)
    gap, objective = plot_history(LinearSVC(C=0.01, solver="dcd").fit(X, y)).axes_
    assert [text.get_text() for text in gap.get_legend().get_texts()][:10] == [str(k) for k in range(10)]
    assert objective.get_legend() is None
    rows, ranks, qid = ranking(seed=1)
    model = LinearRankSVM(C=100.0).fit(rows, ranks, qid=qid)
    [shown] = lines(plot_history(model, kind="gap").axes_[0])
    assert len(shown) == len(model.history_)


def test_histories_need_a_fit():
    with pytest.raises(ValueError, match="has no history"):
        HistoryDisplay.from_estimator(LinearSVC())
    with pytest.raises(ValueError, match="kind='gaps' is unknown; choose from"):
        HistoryDisplay([]).plot(kind="gaps")


def test_scores_against_C_have_means_and_bars():
    X, y = load_iris(return_X_y=True)
    Cs = [1.0, 0.01, 0.1]
    search = GridSearchCV(make_pipeline(StandardScaler(), LinearSVC()), {"linearsvc__C": Cs}, cv=4).fit(X, y)
    display = ScoreDisplay.from_estimator(search)
    results = search.cv_results_
    order = np.argsort(Cs)
    np.testing.assert_allclose(lines(display.ax_)[0], np.column_stack([np.sort(Cs), results["mean_test_score"][order]]))
    folds = np.column_stack([results[f"split{k}_test_score"] for k in range(4)])[order]
    errors = folds.std(axis=1, ddof=1) / 2
    segments = display.ax_.collections[0].get_segments()
    np.testing.assert_allclose([segment[1, 1] - segment[0, 1] for segment in segments], 2 * errors, atol=1e-12)
    assert search.best_params_["linearsvc__C"] == display.best_C
    wide = ScoreDisplay(Cs, folds[np.argsort(order)]).plot(error="deviation").ax_.collections[0].get_segments()
    np.testing.assert_allclose([s[1, 1] - s[0, 1] for s in wide], 4 * errors, atol=1e-12)
    ours = LinearSVCCV(Cs=[0.1, 1.0, 10.0], cv=3).fit(X, y)
    display = ScoreDisplay.from_estimator(ours)
    np.testing.assert_allclose(lines(display.ax_)[0][:, 1], ours.scores_.mean(axis=0))
    assert display.best_C == ours.C_
    with pytest.raises(ValueError, match="no cv_results_"):
        ScoreDisplay.from_estimator(LinearSVC())
    with pytest.raises(ValueError, match="search over C alone"):
        ScoreDisplay.from_estimator(GridSearchCV(LinearSVC(), {"C": [1], "tol": [0.1]}).fit(X, y))
    with pytest.raises(ValueError, match="one row for each of the 2 values of C"):
        ScoreDisplay([1, 2], [[1.0]])


def test_paths_show_coefficients_support_vectors_and_objectives():
    Cs = [0.1, 1.0, 10.0]
    coefs = np.random.default_rng(0).normal(size=(3, 2, 12))
    path = PathDisplay(Cs, coefs, [9, 5, 4], [1.0, 2.0, 3.0], [0.9, 1.9, 2.9], classes=["a", "b"])
    panels = path.plot().axes_
    assert [panel.get_title() for panel in panels] == ["class a", "class b"]
    shown = {tuple(line[:, 1]) for line in lines(panels[1])}
    assert shown == {tuple(coefs[:, 1, j]) for j in range(12)}
    largest = np.argsort(-np.abs(coefs[:, 1]).max(axis=0))[:8]
    named = [text.get_text() for text in panels[1].get_legend().get_texts()]
    assert named == [str(j) for j in largest]
    np.testing.assert_array_equal(lines(path.plot(kind="support").axes_[0])[0][:, 1], [9, 5, 4])
    assert len(lines(path.plot(kind="objective").axes_[0])) == 2
    assert path.axes_[0].get_xscale() == "log"
    with pytest.raises(ValueError, match="has no coefficients"):
        PathDisplay(Cs, n_support=[1, 2, 3]).plot()
    with pytest.raises(ValueError, match="n_support has 2 entries, but there are 3 values of C"):
        PathDisplay(Cs, n_support=[1, 2])


def test_paths_of_svm_path_are_drawn_as_they_are():
    X, y = load_iris(return_X_y=True)
    path = svm_path(X, y, [0.1, 1.0, 10.0])
    panels = plot_path(path, feature_names=list("abcd")).axes_
    for number, panel in enumerate(panels):
        assert {tuple(line[:, 1]) for line in lines(panel)} == {tuple(path.coefs[:, number, j]) for j in range(4)}
    primal, dual = lines(plot_path(path, kind="objective").axes_[0])
    np.testing.assert_allclose(primal[:, 1], path.primal.sum(axis=1))
    np.testing.assert_allclose(dual[:, 1], path.dual.sum(axis=1))
    two = plot_path(svm_path(X, y > 0, [0.1, 1.0, 10.0])).axes_
    assert [panel.get_title() for panel in two] == [""]


def bars(ax):
    return [bar.get_width() for bar in ax.patches], [label.get_text() for label in ax.get_yticklabels()]


def test_top_features_of_two_classes_are_of_both_signs_and_of_more_positive():
    display = TopFeaturesDisplay([[3.0, -1.0, 0.0, 2.0, -4.0]], ["no", "yes"], list("abcde")).plot(n_features=2)
    assert bars(display.axes_[0]) == ([-4.0, -1.0, 2.0, 3.0], ["e", "b", "d", "a"])
    iris = load_iris(as_frame=True)
    model = LinearSVC().fit(iris.data, iris.target)
    display = TopFeaturesDisplay.from_estimator(model, n_features=3)
    for number, panel in enumerate(display.axes_):
        values, names = bars(panel)
        weights = model.coef_[number]
        expected = sorted(weights[weights > 0])[-3:]
        np.testing.assert_allclose(values, expected)
        assert names == [iris.data.columns[np.flatnonzero(weights == value)[0]] for value in expected]
    long = TopFeaturesDisplay([[1.0]], feature_names=["x" * 100]).plot()
    assert bars(long.axes_[0])[1] == ["x" * 37 + "..."]
    with pytest.raises(ValueError, match="is not fitted"):
        TopFeaturesDisplay.from_estimator(LinearSVC())
    with pytest.raises(ValueError, match="2 names for 1 features"):
        TopFeaturesDisplay([[1.0]], feature_names=["a", "b"])


@pytest.mark.parametrize("normalize", [None, "true", "predicted"])
def test_confusions_are_those_of_scikit_learn(normalize):
    rng = np.random.default_rng(0)
    true, predicted = (rng.choice(["a", "b", "cd", "e"], 300) for _ in range(2))
    true[true == "e"] = "a"  # a class that is only predicted
    display = ConfusionDisplay.from_predictions(true, predicted, normalize=normalize)
    theirs = {None: None, "true": "true", "predicted": "pred"}[normalize]
    expected = confusion_matrix(true, predicted, normalize=theirs)
    np.testing.assert_allclose(display.ax_.images[0].get_array(), expected)
    form = "{:,}" if normalize is None else "{:.2f}"
    assert [text.get_text() for text in display.ax_.texts] == [form.format(value) for value in expected.ravel()]


def test_confusions_of_an_estimator_and_of_nonsense():
    X, y = load_iris(return_X_y=True)
    model = LinearSVC().fit(X, y)
    display = ConfusionDisplay.from_estimator(model, X, y)
    np.testing.assert_array_equal(display.counts, confusion_matrix(y, model.predict(X)))
    with pytest.raises(ValueError, match="as long as each other"):
        ConfusionDisplay.from_predictions([1, 2], [1])
    with pytest.raises(ValueError, match="square table"):
        ConfusionDisplay([[1]], ["a", "b"])


def test_pictures_go_where_they_are_told():
    figure, axes = plt.subplots(1, 3)
    X, y = random_problem(rows=100)
    model = LinearSVC().fit(X, y)
    display = plot_history(model, ax=axes[:2])
    assert display.axes_ == list(axes[:2])
    assert display.figure_ is figure
    inside = plot_history(model, ax=axes[2]).axes_
    assert len(inside) == 2
    assert all(panel.figure is figure for panel in inside)
    with pytest.raises(ValueError, match="3 axes, but the picture has 2 panels"):
        plot_history(model, ax=axes)


@pytest.mark.parametrize(("suffix", "start"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")])
def test_files_of_pictures_are_whole_and_the_same_every_time(suffix, start, tmp_path):
    for name in ("a", "b"):
        figure, [ax] = blank_figure()
        PathDisplay([0.1, 1.0], n_support=[9, 4]).plot(kind="support", ax=ax)
        save_figure(figure, tmp_path / f"{name}{suffix}")
    contents = (tmp_path / f"a{suffix}").read_bytes()
    assert contents.startswith(start)
    assert contents == (tmp_path / f"b{suffix}").read_bytes()
    with pytest.raises(ValueError, match=re.escape(".png, .svg, .pdf")):
        save_figure(figure, tmp_path / "a.jpeg")
    assert not plt.get_fignums()  # no window was opened


def test_without_matplotlib_the_remedy_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"maxmargin\[plot\]"):
        new_axes(None)
    assert mpl.get_backend().lower() == "agg"
