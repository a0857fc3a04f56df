"""``--task rank`` on the command line."""

import json

import numpy as np
import pytest

from maxmargin import LinearRankSVM, count_pairs, load_model, ndcg, save_svmlight

from ..conftest import csr
from ..problems.test_ranking import ranking


@pytest.fixture
def queries(tmp_path, monkeypatch):
    """A folder with a file of ranked rows, in which the queries are mixed."""
    monkeypatch.chdir(tmp_path)
    X, y, qid = ranking(rows=300, groups=20, seed=40)
    save_svmlight(X, y, "q.svm", qid=qid)
    return X, y, qid


def test_train_predict_and_info(queries, command):
    X, y, qid = queries
    code, out, err = command("train", "q.svm", "--task", "rank", "-C", "100")
    assert (code, err) == (0, "")
    assert "swapped pairs" in out
    model, fitted = load_model("q.mm"), LinearRankSVM(C=100.0).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, fitted.coef_, rtol=1e-9)

    code, out, err = command("predict", "q.svm", "q.mm", "scores.txt", "--json")
    assert code == 0
    scores = np.loadtxt("scores.txt")
    np.testing.assert_array_equal(scores, model.predict(csr(X)))
    fields = json.loads(out)
    assert fields["in_order"] == count_pairs(y, scores, qid).share_in_order
    assert fields["swapped_pairs"] == model.n_swapped_
    assert fields["ndcg_at_10"] == pytest.approx(ndcg(y, scores, qid, k=10))

    code, out, _ = command("info", "q.mm", "--json")
    fields = json.loads(out)
    assert (fields["pairs"], fields["swapped_pairs"], fields["groups"]) == (model.n_pairs_, model.n_swapped_, 20)
    assert "classes" not in fields
    code, out, _ = command("info", "q.mm")
    assert "swapped pairs" in out
    code, out, _ = command("info", "q.svm", "--json")
    assert json.loads(out)["queries"] == 20


def test_predictions_in_blocks_keep_queries_together(queries, command, monkeypatch):
    command("train", "q.svm", "--task", "rank")
    whole = json.loads(command("predict", "q.svm", "q.mm", "--json")[1])
    monkeypatch.setattr("maxmargin.cli.predict.MOST_SCORES", 7)
    assert json.loads(command("predict", "q.svm", "q.mm", "--json")[1]) == whole


def test_scores_go_to_standard_output(queries, command):
    command("train", "q.svm", "--task", "rank", "-q")
    code, out, err = command("predict", "q.svm", "q.mm", "-")
    assert code == 0
    assert len(out.splitlines()) == 300
    assert "in order" in err


def test_npz_with_queries(queries, command):
    command("convert", "q.svm", "q.npz")
    assert command("train", "q.npz", "a.mm", "--task", "rank", "--json")[0] == 0
    assert command("train", "q.svm", "b.mm", "--task", "rank", "--json")[0] == 0
    np.testing.assert_allclose(load_model("a.mm").coef_, load_model("b.mm").coef_, rtol=1e-12)


@pytest.mark.parametrize("name", [lambda q: q / 10, lambda q: np.array([f"query {k}" for k in q])])
def test_npz_with_queries_of_any_name(queries, command, name):
    X, y, qid = queries
    np.savez("n.npz", X=X, y=y, qid=name(qid))
    fields = json.loads(command("train", "n.npz", "--task", "rank", "--json")[1])
    assert (fields["groups"], fields["pairs"]) == (20, LinearRankSVM().fit(X, y, qid=qid).n_pairs_)


def test_queries_that_do_not_fit_the_rows(queries, command):
    X, y, qid = queries
    for wrong in (qid[:50], qid.astype(complex)):
        np.savez("n.npz", X=X, y=y, qid=wrong)
        code, _, err = command("train", "n.npz", "--task", "rank")
        assert code == 2
        assert "n.npz: 'qid' must hold a number or a text for each of the 300 rows" in err


def test_a_column_of_queries_in_a_table_is_refused(queries, command):
    with open("t.csv", "w") as file:
        file.write("a,qid,stars\n1,2,5\n2,1,3\n0,1,4\n")
    code, _, err = command("train", "t.csv", "--task", "rank", "--label", "stars")
    assert code == 2
    assert "the column 'qid' of a table would become a feature" in err


def test_without_queries_all_rows_are_one_group(queries, command):
    X, y, _ = queries
    save_svmlight(X, y, "one.svm")
    code, _, err = command("train", "one.svm", "--task", "rank")
    assert code == 0
    assert "no query numbers (qid), so all rows are ranked as one group" in err
    assert load_model("one.mm").n_pairs_ == LinearRankSVM().fit(X, y).n_pairs_


def test_a_table_is_ranked_as_one_group(queries, command):
    with open("t.csv", "w") as file:
        file.write("a,b,stars\n" + "1,2,5\n2,1,3\n0,3,4\n" * 5)
    assert command("train", "t.csv", "--task", "rank", "--label", "stars")[0] == 0
    code, out, _ = command("predict", "t.csv", "t.mm", "--json")
    assert code == 0
    assert json.loads(out)["groups"] == 1


def test_a_tolerance_that_was_not_reached(queries, command):
    code, _, err = command("train", "q.svm", "--task", "rank", "-C", "1e4", "--tol", "1e-9", "--max-iter", "3")
    assert code == 1
    assert "The model is written, but the fit ended with a certified gap" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--loss", "hinge"], "--loss does not apply to --task rank"),
        (["--class-weight", "1=2"], "--class-weight does not apply to --task rank"),
        (["--no-intercept"], "--no-intercept does not apply to --task rank"),
        (["--liblinear", "-s 3"], "--liblinear does not apply to --task rank"),
        (["--solver", "dcd"], "--task rank is solved by auto or cutting_plane, not by dcd"),
    ],
)
def test_options_of_classifiers_are_refused(queries, command, words, message):
    code, _, err = command("train", "q.svm", "--task", "rank", *words)
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 qid:1 1:1\n1 qid:1 1:2\n", "bad.svm: there is nothing to rank"),
        ("1 qid:1 1:1\n2 qid:2 1:2\n", "no two rows of one group"),
        ("1 qid:1 1:1\n2 1:2\n", "some rows have a qid: and others have none"),
        ("", "bad.svm: there are no rows"),
    ],
)
def test_bad_data_are_refused(queries, command, text, message):
    with open("bad.svm", "w") as file:
        file.write(text)
    code, _, err = command("train", "bad.svm", "--task", "rank")
    assert code == 2
    assert message in err


def test_text_labels_and_other_formats_are_refused(queries, command):
    with open("t.csv", "w") as file:
        file.write("a,grade\n1,good\n2,bad\n")
    code, _, err = command("train", "t.csv", "--task", "rank", "--label", "grade")
    assert code == 2
    assert "labels to rank by must be numbers" in err
    command("train", "q.svm", "--task", "rank")
    code, _, err = command("convert", "q.mm", "q.model", "--to", "liblinear")
    assert code == 2
    assert "LIBLINEAR has no models that rank" in err


def test_data_without_any_order_are_scored_all_the_same(queries, command):
    command("train", "q.svm", "--task", "rank")
    with open("new.svm", "w") as file:
        file.write("0 qid:1 1:1\n0 qid:1 2:1\n")
    code, _, err = command("predict", "new.svm", "q.mm", "out.txt")
    assert code == 0
    assert "no order to compare with" in err
    assert len(np.loadtxt("out.txt")) == 2


def test_solver_cutting_plane_for_classes(queries, command):
    X, y, _ = queries
    save_svmlight(X, y > 1, "c.svm")
    assert command("train", "c.svm", "--loss", "hinge", "--solver", "cutting_plane")[0] == 0
    assert load_model("c.mm").solver_used_ == "cutting_plane"
    code, _, err = command("train", "c.svm", "--solver", "cutting_plane")
    assert code == 2
    assert "works with loss='hinge' only" in err
