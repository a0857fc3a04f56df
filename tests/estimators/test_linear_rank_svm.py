import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import LinearRankSVM, LinearSVC, RankingProblem, load_model, save_model
from maxmargin.io.model_file import parse_model
from maxmargin.io.models import read_any_model

from ..conftest import csr
from ..io.test_model_file import forged
from ..problems.test_ranking import all_pairs, explicit, ranking
from .test_callbacks import Recorder


def test_the_objective_is_op4():
    X, y, qid = ranking(seed=20)
    model = LinearRankSVM(C=30.0, tol=1e-8).fit(X, y, qid=qid)
    assert model.converged_
    assert model.primal_objective_ == pytest.approx(explicit(X, y, 30.0, qid), rel=2e-8)
    assert model.duality_gap_ == (model.primal_objective_ - model.dual_objective_) / model.primal_objective_


def test_attributes_belong_together():
    X, y, qid = ranking(seed=21)
    model = LinearRankSVM(C=30.0).fit(csr(X), y, qid=qid)
    distance = np.sum((model.dual_coef_ @ X - model.coef_) ** 2)
    assert distance <= 4 * (model.primal_objective_ - model.dual_objective_) + 1e-14
    np.testing.assert_allclose(model.predict(X), X @ model.coef_[0], atol=1e-12)
    np.testing.assert_array_equal(model.decision_function(X), model.predict(X))
    np.testing.assert_array_equal(model.support_, np.flatnonzero(model.dual_coef_.toarray()[0]))
    assert model.n_support_.tolist() == [len(model.support_)]
    assert model.intercept_.tolist() == [0.0]
    assert model.n_iter_ == len(model.history_)
    pairs, scores = all_pairs(y, qid), model.predict(X)
    assert model.n_pairs_ == pairs.sum()
    assert model.n_swapped_ == (pairs & (scores[:, None] < scores[None, :])).sum()
    assert model.score(X, y, qid=qid) == pytest.approx(1 - model.n_swapped_ / model.n_pairs_)


def test_scores_of_groups_and_the_roc_area():
    X, y, qid = ranking(seed=22, levels=2)
    model = LinearRankSVM().fit(X, y)
    assert model.score(X, y) == pytest.approx(roc_auc_score(y, model.predict(X)), rel=1e-12)
    groups, shares = model.score_groups(X, y, qid)
    for group, share in zip(groups, shares, strict=True):
        rows = qid == group
        assert share == pytest.approx(roc_auc_score(y[rows], model.predict(X)[rows]), rel=1e-12)


def test_roc_area_is_better_than_that_of_a_classifier_on_unbalanced_data():
    rng = np.random.default_rng(23)
    X = rng.normal(size=(2000, 10))
    y = X[:, 0] + 0.5 * X[:, 1] + 2 * rng.normal(size=2000) > 4.5
    ranker, classifier = LinearRankSVM(C=100.0).fit(X, y), LinearSVC("hinge").fit(X, y)
    assert ranker.score(X, y) > roc_auc_score(y, classifier.decision_function(X))


def test_sample_weights_are_honoured_exactly():
    X, y, qid = ranking(seed=24)
    weights = np.random.default_rng(24).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    weighted = LinearRankSVM(C=10.0, tol=1e-9).fit(X, y, qid=qid, sample_weight=weights)
    repeated = LinearRankSVM(C=10.0, tol=1e-9).fit(X[rows], y[rows], qid=qid[rows])
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-4)
    assert weighted.primal_objective_ == pytest.approx(repeated.primal_objective_, rel=2e-9)
    assert weighted.score(X, y, qid, weights) == pytest.approx(repeated.score(X[rows], y[rows], qid[rows]), rel=1e-12)


def test_searches_and_cross_validation_with_groups():
    X, y, qid = ranking(rows=200, groups=20, seed=25)
    with sklearn.config_context(enable_metadata_routing=True):
        model = LinearRankSVM().set_fit_request(qid=True).set_score_request(qid=True)
        search = GridSearchCV(model, {"C": [0.01, 10.0]}, cv=GroupKFold(4)).fit(X, y, qid=qid, groups=qid)
        assert search.best_estimator_.score(X, y, qid=qid) > 0.7
        folds = GroupKFold(4)
        scores = cross_val_score(model, X, y, cv=folds, params={"qid": qid, "groups": qid})
    for (train, test), score in zip(folds.split(X, y, qid), scores, strict=True):
        by_hand = LinearRankSVM().fit(X[train], y[train], qid=qid[train])
        assert score == by_hand.score(X[test], y[test], qid=qid[test])


def test_works_in_a_pipeline():
    X, y, _ = ranking(seed=26)
    assert make_pipeline(StandardScaler(), LinearRankSVM()).fit(X, y).score(X, y) > 0.7


def test_warm_start_needs_fewer_cuts():
    X, y, qid = ranking(rows=400, features=10, seed=27)
    cold = LinearRankSVM(C=1100.0, tol=1e-5).fit(X, y, qid=qid)
    warm = LinearRankSVM(C=1000.0, tol=1e-5, warm_start=True).fit(X, y, qid=qid)
    warm.set_params(C=1100.0).fit(X, y, qid=qid)
    assert warm.converged_
    assert warm.n_iter_ < cold.n_iter_
    with pytest.raises(ValueError, match="continues from 10 features, but X has 9"):
        warm.fit(X[:, :9], y, qid=qid)


def test_warm_start_of_a_model_that_knows_its_weights_only(tmp_path):
    X, y, qid = ranking(rows=400, features=10, seed=33)
    save_model(LinearRankSVM(C=100.0).fit(X, y, qid=qid), tmp_path / "m.mm")
    model = load_model(tmp_path / "m.mm").set_params(warm_start=True, max_iter=1, tol=1e-9)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y, qid=qid)
    assert model.primal_objective_ <= load_model(tmp_path / "m.mm").primal_objective_ * (1 + 1e-9)


def test_limits_warn_with_the_gap():
    X, y, qid = ranking(rows=400, features=10, seed=28)
    with pytest.warns(ConvergenceWarning, match=r"certified gap of .* because max_iter was reached"):
        model = LinearRankSVM(C=1e5, max_iter=3).fit(X, y, qid=qid)
    assert not model.converged_
    with pytest.warns(ConvergenceWarning, match="because time_limit was reached"):
        LinearRankSVM(C=1e5, tol=0.0, time_limit=1e-9).fit(X, y, qid=qid)


def test_callbacks_and_verbose_lines(capsys):
    X, y, qid = ranking(rows=300, seed=29)
    recorder = Recorder()
    LinearRankSVM(C=100.0, verbose=1).set_callbacks(recorder).fit(X, y, qid=qid)
    assert recorder.events[0] == ("setup", "fit")
    assert recorder.events[-1] == ("teardown", "fit")
    ends = [event for event in recorder.events if event[:2] == ("end", "step to tol")]
    assert 1 <= len(ends) <= 20
    assert ends[-1][2].score(X, y, qid=qid) > 0.7
    assert "cutting_plane" in capsys.readouterr().out
    stopper = Recorder(stop_after=5)
    model = LinearRankSVM(C=1e4, tol=1e-9).set_callbacks(stopper).fit(X, y, qid=qid)
    assert not model.converged_


@pytest.mark.parametrize("dual", [True, False])
def test_model_files_keep_everything(tmp_path, dual):
    X, y, qid = ranking(seed=30)
    model = LinearRankSVM(C=10.0).fit(X, y, qid=qid)
    save_model(model, tmp_path / "m.mm", dual=dual)
    again = load_model(tmp_path / "m.mm")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert (again.n_pairs_, again.n_swapped_, again.n_tied_) == (model.n_pairs_, model.n_swapped_, model.n_tied_)
    assert again.history_ == model.history_
    assert hasattr(again, "dual_coef_") is dual
    save_model(again, tmp_path / "n.mm")
    if dual:
        assert (tmp_path / "n.mm").read_bytes() == (tmp_path / "m.mm").read_bytes()
    with pytest.raises(ValueError, match="LIBLINEAR has no models that rank"):
        save_model(model, tmp_path / "l.model", format="liblinear")


def test_the_first_files_of_rankers_stay_readable():
    """Written once by version 0.1.0; never to be written again."""
    data = Path(__file__).parent.parent / "data"
    model, facts = load_model(data / "ranking-v2.mm"), json.loads((data / "ranking-v2.json").read_text())
    np.testing.assert_array_equal(model.predict(facts["X"]), facts["scores"])
    assert [model.n_pairs_, model.n_swapped_, model.n_tied_] == facts["pairs"]
    assert model.duality_gap_ == facts["gap"]
    plain = read_any_model(data / "ranking-v2.mm")
    np.testing.assert_array_equal(plain.predict(np.array(facts["X"])), facts["scores"])


@pytest.mark.parametrize(
    "pairs", [None, [], [1, 2], [1.0, 0.0, 0.0, 1.5], [-1.0, 0.0, 0.0, 1], ["a", 0.0, 0.0, 1], [1.0, 0.0, 0.0, True]]
)
def test_summaries_of_pairs_that_are_none(pairs):
    text = (Path(__file__).parent.parent / "data" / "ranking-v2.mm").read_bytes()

    def change(header, _):
        header["training"]["pairs"] = pairs

    forged_file = forged(text, change)
    if pairs is None:
        assert parse_model(forged_file, "m").training.pairs is None
    else:
        with pytest.raises(ValueError, match="no proper 'pairs'"):
            parse_model(forged_file, "m")


def test_pickle_and_clone():
    X, y, qid = ranking(seed=31)
    model = LinearRankSVM(C=3.0).fit(X, y, qid=qid)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    assert clone(model).C == 3.0


def test_fit_equals_solve():
    X, y, qid = ranking(seed=32)
    model = LinearRankSVM(C=3.0).fit(X, y, qid=qid)
    problem = RankingProblem(X, y, 3.0, qid=qid)
    assert problem.primal(np.append(model.coef_[0], 0.0)) == pytest.approx(model.primal_objective_, rel=1e-12)


@pytest.mark.parametrize(
    ("parameters", "fit", "message"),
    [
        ({"C": -1.0}, {}, "'C' parameter of LinearRankSVM must be a float in the range"),
        ({"solver": "dcd"}, {}, "'solver' parameter"),
        ({}, {"y": np.zeros(60)}, "nothing to rank"),
        ({}, {"qid": np.arange(60)}, r"no two rows of one group \(qid\)"),
        ({}, {"qid": np.arange(59)}, "inconsistent numbers of samples"),
        ({}, {"y": np.full(60, "a")}, "could not convert|must hold numbers|dtype"),
        ({}, {"sample_weight": np.full(60, -1.0)}, "Negative values"),
        ({}, {"X": np.full((60, 5), np.nan)}, "NaN"),
    ],
)
def test_bad_input_is_refused_with_a_message(parameters, fit, message):
    X, y, qid = ranking()
    with pytest.raises(ValueError, match=message):
        LinearRankSVM(**parameters).fit(**{"X": X, "y": y, "qid": qid, **fit})


def test_scores_without_groups_after_a_fit_with_groups_warn(tmp_path):
    X, y, qid = ranking(seed=40)
    model = LinearRankSVM(C=10.0).fit(X, y, qid=qid)
    save_model(model, tmp_path / "m.mm")
    for each in (model, pickle.loads(pickle.dumps(model)), load_model(tmp_path / "m.mm")):
        with pytest.warns(UserWarning, match="fitted with qid, but score got none"):
            without = each.score(X, y)
        assert without != each.score(X, y, qid=qid)  # which warns of nothing
    model.fit(X, y)
    model.score(X, y)  # nor does this, fitted without groups
    model.fit(X, y, qid=np.zeros(len(y)))
    with pytest.warns(UserWarning, match="score got none"):
        model.score(X, y)


def test_cross_validation_with_groups_that_are_not_routed_is_not_silent():
    X, y, qid = ranking(rows=200, seed=41)
    with pytest.warns(UserWarning, match=r"set_fit_request\(qid=True\)\.set_score_request\(qid=True\)"):
        cross_val_score(LinearRankSVM(), X, y, params={"qid": qid})
    with sklearn.config_context(enable_metadata_routing=True):
        for half in (LinearRankSVM(), LinearRankSVM().set_fit_request(qid=True)):
            with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError, match="qid"):
                cross_val_score(half, X, y, params={"qid": qid}, error_score="raise")
        asked = LinearRankSVM().set_fit_request(qid=True).set_score_request(qid=False)
        with pytest.warns(UserWarning, match="score got none"):
            cross_val_score(asked, X, y, params={"qid": qid})
