"""Model files: everything comes back with the same bits, and nothing broken or hostile comes back at all."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load, save
from sklearn.datasets import load_iris

from maxmargin import LinearSVC, load_model, save_model
from maxmargin.io.fields import ModelFileError
from maxmargin.io.files import atomic_write
from maxmargin.io.model_file import ENTRY, from_bytes, to_bytes
from maxmargin.io.sealed import checksum
from tests.conftest import random_problem

VERSION_1 = Path(__file__).parent.parent / "data" / "model-v1.mm"


def blobs(classes, rows=90, features=5, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(len(classes), size=rows)
    labels[: len(classes)] = np.arange(len(classes))
    return rng.normal(size=(rows, features)) + 2 * rng.normal(size=(len(classes), features))[labels], classes[labels]


CLASSES = {
    "two ints": np.array([3, -1]),
    "small ints": np.array([1, 2, 3], dtype=np.int8),
    "unsigned": np.array([7, 200], dtype=np.uint8),
    "floats": np.array([1.0, -2.0, 1e15]),
    "float32": np.array([3.0, 1.0], dtype=np.float32),
    "bools": np.array([True, False]),
    "strings": np.array(["yes", "no", "Größe \u2603"]),
    "objects": np.array(["b", "a"], dtype=object),
}


@pytest.mark.parametrize("dual", [True, False])
@pytest.mark.parametrize("name", list(CLASSES))
def test_the_same_estimator_comes_back(tmp_path, name, dual):
    X, y = blobs(CLASSES[name])
    weight = {CLASSES[name].tolist()[0]: 2.0}
    model = LinearSVC("hinge", C=np.float64(0.3), tol=1e-7, class_weight=weight, random_state=5).fit(X, y)
    save_model(model, tmp_path / "a.mm", dual=dual)
    again = load_model(tmp_path / "a.mm")
    assert type(again) is LinearSVC
    assert again.get_params() == model.get_params()
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.decision_function(X).view(np.int64), model.decision_function(X).view(np.int64))
    same = ["coef_", "intercept_", "classes_", "n_features_in_", "n_iter_", "n_support_", "primal_objective_"]
    for attribute in [*same, "dual_objective_", "duality_gap_", "converged_", "solver_used_", "history_"]:
        np.testing.assert_equal(getattr(again, attribute), getattr(model, attribute), err_msg=attribute)
    assert hasattr(again, "dual_coef_") == hasattr(again, "support_") == dual
    if dual:
        assert (again.dual_coef_ != model.dual_coef_).nnz == 0
        np.testing.assert_array_equal(again.support_, model.support_)
        again.set_params(warm_start=True).fit(X, y)
        assert again.n_iter_ <= model.n_iter_


def test_names_of_features_and_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = random_problem()
    frame = pandas.DataFrame(X, columns=[f"column {k}" for k in range(X.shape[1])])
    save_model(LinearSVC().fit(frame, y), tmp_path / "a.mm")
    again = load_model(tmp_path / "a.mm")
    assert again.feature_names_in_.tolist() == frame.columns.tolist()
    again.predict(frame)
    with pytest.warns(UserWarning, match="feature names"):
        again.predict(X)


def test_sparse_weights_take_less_space_and_keep_their_bits(tmp_path):
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(100_000, size=300, replace=False))
    values = rng.normal(size=(80, 300))
    X = sp.csr_array((values.ravel(), np.tile(columns, 80), np.arange(0, 80 * 300 + 1, 300)), shape=(80, 100_000))
    y = np.arange(80) % 3
    model = LinearSVC().fit(X, y)
    model.coef_[0, 5] = -0.0
    save_model(model, tmp_path / "a.mm", dual=False)
    assert os.path.getsize(tmp_path / "a.mm") < model.coef_.nbytes / 50
    again = load_model(tmp_path / "a.mm")
    np.testing.assert_array_equal(again.coef_.view(np.int64), model.coef_.view(np.int64))
    model.coef_[:] = rng.normal(size=model.coef_.shape)
    save_model(model, tmp_path / "b.mm", dual=False)
    np.testing.assert_array_equal(load_model(tmp_path / "b.mm").coef_, model.coef_)
    assert "coef" in load((tmp_path / "b.mm").read_bytes())


def test_a_generator_as_random_state_is_left_out_with_a_warning(tmp_path):
    X, y = random_problem()
    model = LinearSVC(random_state=np.random.RandomState(3)).fit(X, y)
    with pytest.warns(UserWarning, match="random_state is a generator"):
        save_model(model, tmp_path / "a.mm")
    assert load_model(tmp_path / "a.mm").random_state is None


def test_what_is_no_fitted_estimator_is_refused(tmp_path):
    from sklearn.exceptions import NotFittedError
    from sklearn.svm import LinearSVC as Other

    with pytest.raises(NotFittedError):
        save_model(LinearSVC(), tmp_path / "a.mm")
    with pytest.raises(TypeError, match="takes a fitted estimator of maxmargin"):
        save_model(Other(), tmp_path / "a.mm")
    with pytest.raises(ValueError, match="format='pickle' is unknown"):
        save_model(LinearSVC().fit(*random_problem()), tmp_path / "a.mm", format="pickle")
    assert os.listdir(tmp_path) == []


def test_version_1_stays_readable():
    """This file was written when version 1 was new, and is never written again."""
    expected = json.loads(VERSION_1.with_suffix(".json").read_text())
    model = load_model(VERSION_1)
    assert model.classes_.tolist() == expected["classes"]
    assert model.get_params()["class_weight"] == {"setosa": 2.0}
    assert model.feature_names_in_.tolist() == expected["feature_names"]
    X = np.array(expected["X"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert model.predict(X).tolist() == expected["predictions"]
        np.testing.assert_allclose(model.decision_function(X), expected["scores"], rtol=1e-12)
    assert model.duality_gap_.tolist() == expected["gaps"]
    assert model.dual_coef_.shape == tuple(expected["dual_shape"])


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    X, y = blobs(CLASSES["strings"], rows=12, features=2)
    path = tmp_path_factory.mktemp("model") / "a.mm"
    save_model(LinearSVC(tol=0.1).fit(X, y), path)
    return path.read_bytes()


def test_cut_at_every_byte(contents):
    for cut in range(len(contents)):
        with pytest.raises(ModelFileError):
            from_bytes(contents[:cut])


def test_more_bytes_at_the_end_or_the_beginning(contents):
    for broken in (contents + b"\0", contents + contents, b"\0" + contents, contents[1:]):
        with pytest.raises(ModelFileError):
            from_bytes(broken)


def test_every_byte_changed(contents):
    generator = np.random.default_rng(0)
    for position in range(len(contents)):
        broken = bytearray(contents)
        broken[position] ^= 1 << int(generator.integers(8))
        with pytest.raises(ModelFileError):
            from_bytes(bytes(broken))


@settings(max_examples=300)
@given(st.binary(max_size=300))
def test_any_bytes_at_all(junk):
    with pytest.raises(ModelFileError):
        from_bytes(junk)
    with pytest.raises(ModelFileError):
        from_bytes(len(junk).to_bytes(8, "little") + junk)


def forged(contents, change):
    """The same file with other contents and a checksum that fits: the work of someone who knows the format."""
    length = int.from_bytes(contents[:8], "little")
    header = json.loads(json.loads(contents[8 : 8 + length])["__metadata__"][ENTRY].partition(" ")[2])
    tensors = dict(load(contents))
    change(header, tensors)
    text = json.dumps(header)
    return save(tensors, {ENTRY: f"{checksum(text, tensors)} {text}"})


FORGERIES = {
    "later version": lambda h, t: h.update(format=99),
    "version true": lambda h, t: h.update(format=True),
    "no version": lambda h, t: h.pop("format"),
    "no shape": lambda h, t: h.pop("shape"),
    "negative shape": lambda h, t: h.update(shape=[-3, 2]),
    "huge shape": lambda h, t: h.update(shape=[3, 1 << 47]),
    "other shape": lambda h, t: h.update(shape=[3, 3]),
    "no weights": lambda h, t: t.pop("coef"),
    "weights not finite": lambda h, t: t["coef"].__setitem__((0, 0), np.nan),
    "intercept not finite": lambda h, t: t["intercept"].__setitem__(0, np.inf),
    "intercept of other length": lambda h, t: t.update(intercept=np.zeros(4)),
    "weights of other type": lambda h, t: t.update(coef=t["coef"].astype(np.int64)),
    "unknown type": lambda h, t: t.update(extra=np.zeros(1, dtype=np.float16)),
    "one class": lambda h, t: h["classes"].update(values=["a"]),
    "same class twice": lambda h, t: h["classes"].update(values=["a", "a", "b"]),
    "classes no strings": lambda h, t: h["classes"].update(values=[1, 2, 3]),
    "classes of objects": lambda h, t: h.update(classes={"dtype": "O"}),
    "classes of nonsense": lambda h, t: h.update(classes={"dtype": "nonsense("}),
    "classes of a type that numpy would evaluate": lambda h, t: h.update(classes={"dtype": "sol,05d"}),
    "classes that do not fit": lambda h, t: (
        h.update(classes={"dtype": "|i1"}),
        t.update(classes=np.array([1, 2, 300])),
    ),
    "classes not a number": lambda h, t: (
        h.update(classes={"dtype": "<f8"}),
        t.update(classes=np.array([1, 2, np.nan])),
    ),
    "classes missing": lambda h, t: h.update(classes={"dtype": "<i8"}),
    "names of other length": lambda h, t: h.update(feature_names=["a"]),
    "names no strings": lambda h, t: h.update(feature_names=[1, 2]),
    "estimator no string": lambda h, t: h.update(estimator=5),
    "parameters a list": lambda h, t: h.update(parameters=[]),
    "parameter a list": lambda h, t: h["parameters"].update(C=[1]),
    "class weight no pairs": lambda h, t: h["parameters"].update(class_weight=[[1]]),
    "class weight nested": lambda h, t: h["parameters"].update(class_weight=[[[1], 2]]),
    "source unknown": lambda h, t: h.update(source={"run": "rm"}),
    "source no bool": lambda h, t: h.update(source={"zero_based": 1}),
    "columns too few": lambda h, t: h.update(source={"columns": [["a", None]]}),
    "columns no pairs": lambda h, t: h.update(source={"columns": ["a", "b"]}),
    "columns no names": lambda h, t: h.update(source={"columns": [[1, None], ["b", None]]}),
    "columns no categories": lambda h, t: h.update(source={"columns": [["a", 5], ["b", None]]}),
    "label beyond the columns": lambda h, t: h.update(source={"label": 1000}),
    "label true": lambda h, t: h.update(source={"label": True}),
    "classes of endless text": lambda h, t: h["classes"].update(values=[*map(str, range(40_000)), "x" * 200_000]),
    "no classes": lambda h, t: h["classes"].update(values=[]),
    "rows without end": lambda h, t: h["training"].update(rows=2**63),
    "steps negative": lambda h, t: h["training"].update(n_iter=-1),
    "steps without end": lambda h, t: h["training"].update(n_iter=2**70),
    "support negative": lambda h, t: t["n_support"].__setitem__(0, -1),
    "primal not finite": lambda h, t: t["primal"].__setitem__(0, np.nan),
    "dual variables not finite": lambda h, t: t["dual_coef.data"].__setitem__(0, np.nan),
    "parameter not a number": lambda h, t: h["parameters"].update(C=float("nan")),
    "training a list": lambda h, t: h.update(training=[]),
    "rows negative": lambda h, t: h["training"].update(rows=-1),
    "rows too few": lambda h, t: h["training"].update(rows=1),
    "solvers of other length": lambda h, t: h["training"].update(solvers=["dcd"]),
    "dual indices outside": lambda h, t: t["dual_coef.indices"].__setitem__(0, 10_000),
    "dual indices negative": lambda h, t: t["dual_coef.indices"].__setitem__(0, -1),
    "dual pointers falling": lambda h, t: t["dual_coef.indptr"].__setitem__(1, 10_000),
    "history of problem 9": lambda h, t: t["history"].__setitem__((0, 0), 9),
    "history of epoch nan": lambda h, t: t["history"].__setitem__((0, 2), np.nan),
    "history of other width": lambda h, t: t.update(history=np.zeros((2, 3))),
    "header without anything": lambda h, t: (h.clear(), h.update(format=1)),
}


@pytest.mark.parametrize("name", list(FORGERIES))
def test_forged_files_are_refused(contents, name):
    with pytest.raises(ModelFileError):
        from_bytes(forged(contents, FORGERIES[name]))


def test_the_forger_works(contents):
    assert from_bytes(forged(contents, lambda _, __: None)).coef.shape == (3, 2)


def test_models_of_one_problem_over_all_classes_come_back_whole(tmp_path):
    X, y = load_iris(return_X_y=True)
    for multi_class in ("crammer_singer", "weston_watkins"):
        for classes in (3, 2):
            rows = y < classes
            model = LinearSVC(multi_class=multi_class, C=0.1).fit(X[rows], y[rows])
            save_model(model, tmp_path / "a.mm")
            again = load_model(tmp_path / "a.mm")
            assert np.array_equal(again.coef_, model.coef_)
            assert (again.dual_coef_ != model.dual_coef_).nnz == 0
            assert again.primal_objective_ == model.primal_objective_
            assert again.history_ == model.history_
            assert again.solver_used_ == model.solver_used_
            save_model(again, tmp_path / "b.mm")
            assert (tmp_path / "a.mm").read_bytes() == (tmp_path / "b.mm").read_bytes()
    versions = []
    forged((tmp_path / "a.mm").read_bytes(), lambda header, _: versions.append(header["format"]))
    assert versions == [3]


def test_the_first_files_of_one_problem_over_all_classes_stay_readable():
    """Written once by version 0.1.0; never to be written again."""
    data = Path(__file__).parent.parent / "data"
    model, facts = load_model(data / "classes-v3.mm"), json.loads((data / "classes-v3.json").read_text())
    np.testing.assert_allclose(model.decision_function(facts["X"]), facts["scores"], rtol=1e-12)
    assert model.predict(facts["X"]).tolist() == facts["labels"]
    assert model.duality_gap_ == facts["gap"]
    assert model.dual_coef_.shape == tuple(facts["shape"])


@pytest.mark.parametrize("value", [["crammer_singer"], {}, "ovr", None])
def test_files_that_lie_about_their_classes(value):
    contents = (Path(__file__).parent.parent / "data" / "classes-v3.mm").read_bytes()

    def change(header, _):
        header["parameters"]["multi_class"] = value

    with pytest.raises(ValueError, match=r"primal|parameter|multi_class"):
        from_bytes(forged(contents, change))


def test_messages_name_the_file_and_the_versions(tmp_path, contents):
    path = tmp_path / "later.mm"
    path.write_bytes(forged(contents, FORGERIES["later version"]))
    with pytest.raises(ValueError, match=r"later\.mm: it has format version 99, this library .* knows 1 to 6"):
        load_model(path)
    path.write_bytes(forged(contents, lambda h, _: h.update(estimator="Pickle")))
    with pytest.raises(ValueError, match="'Pickle', which this version does not know"):
        load_model(path)
    path.write_bytes(forged(contents, lambda h, _: h["parameters"].update(exec="import os")))
    with pytest.raises(ValueError, match="no parameter 'exec'"):
        load_model(path)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "missing.mm")
    with pytest.raises(IsADirectoryError):
        load_model(tmp_path)


def test_sparse_weights_that_point_outside_are_refused():
    model = LinearSVC().fit(sp.csr_array(np.eye(400)[:6]), [0, 1, 2] * 2)
    good = to_bytes(model._to_model(), dual=False)
    assert "coef.indices" in load(good)
    for name, value in [("coef.indices", 400), ("coef.indices", -1), ("coef.indptr", 10**15)]:

        def change(_, tensors, name=name, value=value):
            tensors[name][1] = value

        with pytest.raises(ModelFileError, match="points outside itself"):
            from_bytes(forged(good, change))


def test_loading_never_unpickles(tmp_path):
    import pickle

    path = tmp_path / "a.mm"
    path.write_bytes(pickle.dumps(LinearSVC().fit(*random_problem())))
    with pytest.raises(ModelFileError, match="not a model file"):
        load_model(path)


@pytest.mark.parametrize("kind", ["plain", "symlink"])
def test_a_failed_write_keeps_the_old_file(tmp_path, kind):
    path = tmp_path / "a.mm"
    path.write_bytes(b"old")
    path.chmod(0o640)
    name = path
    if kind == "symlink":
        name = tmp_path / "link.mm"
        name.symlink_to(path)
    before = sorted(os.listdir(tmp_path))

    def fail_halfway():
        with atomic_write(name) as file:
            file.write(b"half")
            raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        fail_halfway()
    assert path.read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == before
    with atomic_write(name) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(tmp_path)) == before


FULL_DISK = """
import resource, signal, sys
import numpy as np
from maxmargin import LinearSVC, save_model
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
X = np.random.default_rng(0).normal(size=(50, 4000))
model = LinearSVC(max_iter=2, tol=0.5).fit(X, np.arange(50) % 2)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    save_model(model, sys.argv[1])
except OSError as error:
    print("refused", error.errno)
"""


def test_a_full_disk_keeps_the_old_model(tmp_path):
    path = tmp_path / "a.mm"
    X, y = random_problem()
    save_model(LinearSVC().fit(X, y), path)
    old = path.read_bytes()
    run = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("refused"), run.stderr
    assert path.read_bytes() == old
    assert os.listdir(tmp_path) == ["a.mm"]
    load_model(path)


def test_killed_while_writing_keeps_the_old_model(tmp_path):
    path = tmp_path / "a.mm"
    path.write_bytes(b"old")
    code = f"""
        import os, signal
        from maxmargin.io.files import atomic_write
        with atomic_write({str(path)!r}) as file:
            file.write(b"half")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=False)
    assert run.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


def test_where_nothing_can_be_written(tmp_path):
    model = LinearSVC().fit(*random_problem())
    with pytest.raises(FileNotFoundError, match="does not exist"):
        save_model(model, tmp_path / "missing" / "a.mm")
    with pytest.raises(IsADirectoryError):
        save_model(model, tmp_path)
    save_model(model, os.devnull)


def test_how_the_data_were_read_survives_python(tmp_path):
    model = LinearSVC().fit(*random_problem())._to_model()
    source = {"zero_based": True, "label": "kind", "columns": [[f"c{k}", None] for k in range(8)]}
    save_model(replace(model, source=source), tmp_path / "a.mm")
    again = load_model(tmp_path / "a.mm")
    save_model(again, tmp_path / "b.mm")
    assert from_bytes((tmp_path / "b.mm").read_bytes()).source == source
    again.fit(*random_problem())
    save_model(again, tmp_path / "c.mm")
    assert from_bytes((tmp_path / "c.mm").read_bytes()).source == {}


@pytest.mark.parametrize("dtype", [">i8", ">f8", ">i2", ">f4"])
def test_labels_in_the_other_byte_order(tmp_path, dtype):
    X, y = blobs(np.array([3, -1, 7], dtype=dtype))
    model = LinearSVC().fit(X, y)
    model.classes_ = np.unique(y).astype(dtype)  # some versions of numpy sort into native order
    save_model(model, tmp_path / "a.mm")
    np.testing.assert_array_equal(load_model(tmp_path / "a.mm").predict(X), model.predict(X))


def test_parameters_that_are_not_finite(tmp_path):
    X, y = random_problem()
    model = LinearSVC().fit(X, y).set_params(C=float("inf"))
    with pytest.raises(ValueError, match="C=inf is not finite"):
        save_model(model, tmp_path / "a.mm")
    assert os.listdir(tmp_path) == []


def test_long_names_and_devices(tmp_path):
    path = tmp_path / ("ü" * 120 + ".mm")
    save_model(LinearSVC().fit(*random_problem()), path)
    load_model(path)

    def fail_halfway():
        with atomic_write(os.devnull):
            raise FileNotFoundError("something else")

    with pytest.raises(FileNotFoundError, match="something else"):
        fail_halfway()


@pytest.mark.parametrize(("name", "method"), [("regression-v5", "predict"), ("one-class-v5", "decision_function")])
def test_version_5_stays_readable(name, method):
    """Written once, when version 5 was new; never to be written again."""
    folder = VERSION_1.parent
    expected = json.loads((folder / f"{name}.json").read_text())
    model = load_model(folder / f"{name}.mm")
    np.testing.assert_allclose(getattr(model, method)(np.array(expected["X"])), expected["values"], rtol=1e-12)
    assert (model.duality_gap_, model.primal_objective_) == (expected["gap"], expected["objective"])


@pytest.mark.parametrize("name", ["multilabel-v6", "sparse-multilabel-v6"])
def test_version_6_stays_readable(name):
    """Written once, when version 6 was new; never to be written again."""
    folder = VERSION_1.parent
    expected = json.loads((folder / f"{name}.json").read_text())
    model = load_model(folder / f"{name}.mm")
    assert model.multilabel_
    assert hasattr(model.coef_, "toarray") == name.startswith("sparse")
    scores = model.decision_function(np.array(expected["X"]))
    np.testing.assert_allclose(scores, expected["values"], rtol=1e-12)
    assert model.duality_gap_.tolist() == expected["gap"]


@pytest.mark.parametrize(
    "fields",
    [
        {"multilabel": True},
        {"multilabel": {"output": "both", "sparse_coef": False}},
        {"multilabel": {"output": "dense"}},
        {"multilabel": {"output": "dense", "sparse_coef": True}},
        {"estimator": "LinearSVR"},
        {"parameters": {"multi_class": "crammer_singer"}},
    ],
    ids=str,
)
def test_multilabel_headers_that_are_not_proper_are_refused(fields, tmp_path):
    contents = (VERSION_1.parent / "multilabel-v6.mm").read_bytes()
    (tmp_path / "forged.mm").write_bytes(forged(contents, lambda header, _: header.update(fields)))
    with pytest.raises(ValueError, match=r"forged\.mm"):
        load_model(tmp_path / "forged.mm")


@pytest.mark.parametrize("name", ["regression-v5", "one-class-v5"])
def test_kinds_of_models_do_not_pass_for_each_other(name, tmp_path):
    contents = (VERSION_1.parent / f"{name}.mm").read_bytes()
    for other in ("LinearSVC", "LinearSVR", "OneClassSVM"):
        path = tmp_path / "forged.mm"
        path.write_bytes(forged(contents, lambda header, _, other=other: header.update(estimator=other)))
        if other != type(load_model(VERSION_1.parent / f"{name}.mm")).__name__:
            with pytest.raises(ValueError, match=r"forged\.mm"):
                load_model(path)
