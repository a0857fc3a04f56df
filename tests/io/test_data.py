"""Data from .npz, .npy, CSV and Parquet: the same rows as by numpy, and clear words for what cannot be read."""

import contextlib

import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp

from maxmargin.io.data import ReadOptions, iter_data, read_data
from maxmargin.models.model import Model


def model_of(n_features, **others):
    return Model("LinearSVC", {}, np.array([0, 1]), np.ones((1, n_features)), np.zeros(1), **others)


@pytest.fixture
def table(tmp_path):
    frame = pl.DataFrame(
        {
            "size": [1.5, 2.0, -3.25, 0.0],
            "count": [1, 2, 3, 4],
            "new": [True, False, True, False],
            "label": ["a", "b", "a", "b"],
        }
    )
    frame.write_csv(tmp_path / "t.csv")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    frame.write_parquet(tmp_path / "t.parquet")
    return tmp_path


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_tables(table, suffix):
    data = read_data(table / f"t.{suffix}")
    new = [1.0, 0.0, 1.0, 0.0]
    np.testing.assert_array_equal(data.X, np.array([[1.5, 2.0, -3.25, 0.0], [1, 2, 3, 4], new]).T)
    assert data.X.flags.c_contiguous
    assert data.y.tolist() == ["a", "b", "a", "b"]
    assert data.feature_names == ["size", "count", "new"]
    assert read_data(table / f"t.{suffix}", ReadOptions(dtype="float32")).X.dtype == np.float32


@pytest.mark.parametrize("label", ["count", "1", "-3"])
def test_the_column_of_the_labels_by_name_and_number(table, label):
    data = read_data(table / "t.csv", ReadOptions(label=label, one_hot=True))
    assert data.y.tolist() == [1, 2, 3, 4]
    assert data.feature_names == ["size", "new", "label=a", "label=b"]


def test_one_hot_features(tmp_path):
    (tmp_path / "t.csv").write_text("colour,n,y\nred,1,0\nblue,2,1\nred,3,0\n")
    data = read_data(tmp_path / "t.csv", ReadOptions(one_hot=True))
    assert data.feature_names == ["colour=blue", "colour=red", "n"]
    np.testing.assert_array_equal(data.X.to_scipy().toarray(), [[0, 1, 1], [1, 0, 2], [0, 1, 3]])
    assert data.y.tolist() == [0, 1, 0]
    # other order of columns, a new category, and no labels
    (tmp_path / "new.csv").write_text("n,extra,colour\n5,x,green\n6,y,blue\n")
    model = model_of(3, source=data.source, feature_names=data.feature_names)
    [block] = iter_data(tmp_path / "new.csv", model, ReadOptions())
    np.testing.assert_array_equal(block.X.to_scipy().toarray(), [[0, 0, 5], [1, 0, 6]])
    assert block.y is None
    assert block.dropped == 1


def test_tables_come_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.io.tables.BLOCK_ROWS", 100)
    monkeypatch.setattr("maxmargin.io.tables.BLOCK_BYTES", 5000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1234, 3))
    frame = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(y=pl.Series(rng.integers(2, size=1234)))
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    for name in ("t.parquet", "t.csv"):
        blocks = list(iter_data(tmp_path / name, model_of(3, feature_names=["c", "a", "b"]), ReadOptions()))
        assert len(blocks) > 1
        np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X[:, [2, 0, 1]])
        np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), frame["y"].to_numpy())


def test_numbers_that_begin_as_whole_ones_and_labels_that_look_like_numbers(tmp_path):
    lines = ["x,label"] + [f"{k},{k % 2}" for k in range(5000)] + ["0.5,1"]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    data = read_data(tmp_path / "t.csv")
    assert data.X[-1, 0] == 0.5
    model = Model("LinearSVC", {}, np.array(["0", "1"]), np.ones((1, 1)), np.zeros(1), source=data.source)
    assert next(iter_data(tmp_path / "t.csv", model, ReadOptions())).y.dtype.kind == "U"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n", {}, "which column holds the labels.*--label; there are a, b"),
        ("a,b\n1,2\n", {"label": "c"}, "there is no column 'c'; there are a, b"),
        ("a,y\nred,2\n", {}, "the column 'a' holds text \\('red'\\).*--one-hot"),
        ("a,b,y\n1,2,0\n3,,1\n", {}, "the column 'b' has no value in row 2"),
        ("a,y\n1,\n2,1\n", {}, "the label 'y' is missing in row 1"),
        ("a,y\n1,0\nNaN,1\n", {}, "the column 'a' is not finite in row 2"),
        ("y\n1\n", {}, "1 rows and 0 columns of features"),
        ("a,y\n", {}, "0 rows and 1 columns of features"),
        ("a,y\n1,2\n1,2,3,4\n", {}, "cannot be read"),
        ("", {}, "cannot be read"),
        ("a,y\n1,2\n", {"zero_based": True}, "--zero-based does not apply to csv data"),
        ("1.5,2,1\n2.5,1,0\n", {"label": "2"}, r"the first line holds numbers \(1.5, 2, 1, ...\), not names"),
        ("a,a,y\n1,2,0\n3,4,1\n", {}, "several columns named 'a'"),
        ("a,y\nNA,0\n1.5,1\n", {}, "the column 'a' has no value in row 1"),
        ("a,y\n1,99999999999999999999\n2,1\n", {}, "cannot be read|labels must be"),
    ],
)
def test_bad_tables(tmp_path, text, options, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_data(path, ReadOptions(**options))


def test_columns_that_are_no_numbers(tmp_path):
    frame = pl.DataFrame({"when": ["2020-01-01"], "y": [1]}).with_columns(pl.col("when").str.to_date())
    frame.write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="the column 'when' holds Date"):
        read_data(tmp_path / "t.parquet", ReadOptions(one_hot=True))
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(ValueError, match="cannot be read"):
        read_data(tmp_path / "broken.parquet")
    with pytest.raises(FileNotFoundError):
        read_data(tmp_path / "missing.csv")


def test_tables_that_do_not_fit_the_model(table):
    with pytest.raises(ValueError, match=r"needs the column 'weight', which is not there \(nor are 1 others\)"):
        list(iter_data(table / "t.csv", model_of(2, feature_names=["weight", "height"]), ReadOptions()))
    with pytest.raises(ValueError, match="the table has 3 features, the model 7"):
        list(iter_data(table / "t.csv", model_of(7), ReadOptions()))
    [block] = iter_data(table / "t.csv", model_of(3), ReadOptions())
    assert block.X.shape == (4, 3)


@pytest.mark.parametrize("how", ["by hand", "scipy", "dense"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64])
def test_npz(tmp_path, how, dtype):
    X = sp.csr_matrix(np.array([[0, 2, 0], [3, 0, 4]], dtype=dtype))
    y = np.array([1, -1])
    path = tmp_path / "data.npz"
    if how == "by hand":
        np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr.astype(np.int64), shape=X.shape, y=y)
    elif how == "scipy":
        sp.save_npz(path, X)
        np.savetxt(tmp_path / "labels.txt", y, fmt="%d")
    else:
        np.savez(path, X=X.toarray(), y=y)
    data = read_data(path, ReadOptions(labels=tmp_path / "labels.txt" if how == "scipy" else None))
    dense = data.X if how == "dense" else data.X.to_scipy().toarray()
    np.testing.assert_array_equal(dense, X.toarray())
    assert dense.dtype == {np.uint8: np.float32, np.int64: np.float64}.get(dtype, dtype)
    np.testing.assert_array_equal(data.y, y)
    [block] = iter_data(path, model_of(3), ReadOptions())
    assert block.X.shape == (2, 3)
    if how == "dense":
        with pytest.raises(ValueError, match="the data have 3 features, the model 4"):
            list(iter_data(path, model_of(4), ReadOptions()))
        return
    [wider] = iter_data(path, model_of(4), ReadOptions())
    assert wider.X.shape == (2, 4)
    [narrower] = iter_data(path, model_of(2), ReadOptions())
    np.testing.assert_array_equal(narrower.X.to_scipy().toarray(), X.toarray()[:, :2])
    assert narrower.dropped == 1


def test_npy_is_used_in_place_and_comes_in_blocks(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(100, 4))
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", np.array(["a", "b"] * 50))
    data = read_data(tmp_path / "X.npy", ReadOptions(labels=tmp_path / "y.npy"))
    assert isinstance(data.X.base, np.memmap) or isinstance(data.X, np.memmap)
    np.testing.assert_array_equal(data.X, X)
    assert data.y.tolist() == ["a", "b"] * 50
    by_column = read_data(tmp_path / "X.npy", ReadOptions(label="-1"))
    np.testing.assert_array_equal(by_column.X, X[:, :3])
    np.testing.assert_array_equal(by_column.y, X[:, 3])
    monkeypatch.setattr("maxmargin.io.arrays.BLOCK_VALUES", 40)
    blocks = list(iter_data(tmp_path / "X.npy", model_of(4), ReadOptions()))
    assert [len(block.X) for block in blocks] == [10] * 10
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.eye(2)}, "there are no labels"),
        ({"Y": np.eye(2)}, "found Y"),
        ({"X": np.eye(2), "y": np.ones(3)}, "the labels have the shape"),
        ({"X": np.eye(2), "y": np.array([1.0, np.nan])}, "the labels contain NaN"),
        ({"X": np.array([["a"]]), "y": [1]}, "must be numbers"),
        ({"X": np.ones(2), "y": [1, 2]}, "two dimensions"),
        ({"X": np.array([[object()]]), "y": [1]}, "array 'X': not readable by numpy"),
        ({"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [2, 1], "y": [1, 2]}, "do not fit together"),
        ({"data": [1.0], "indices": [0.5], "indptr": [0, 1], "shape": [1, 1], "y": [1]}, "'indices' must be"),
        ({"data": [1.0], "indices": [0], "indptr": [0, 1], "shape": [1], "y": [1]}, "'shape' must be two"),
    ],
)
def test_bad_npz(tmp_path, arrays, message):
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=message):
        read_data(path)


def test_broken_numpy_files(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(50), y=np.ones(50))
    whole = (tmp_path / "a.npz").read_bytes()
    for cut in range(0, len(whole), 97):
        (tmp_path / "cut.npz").write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"cut\.npz"):
            read_data(tmp_path / "cut.npz")
    np.save(tmp_path / "a.npy", np.eye(50))
    whole = (tmp_path / "a.npy").read_bytes()
    for cut in range(0, len(whole), 497):
        (tmp_path / "cut.npy").write_bytes(whole[:cut])
        with pytest.raises(ValueError, match=r"cut\.npy"):
            read_data(tmp_path / "cut.npy", ReadOptions(label="0"))
    with pytest.raises(ValueError, match="the columns have no names"):
        read_data(tmp_path / "a.npy", ReadOptions(label="size"))
    with pytest.raises(ValueError, match="no column 50"):
        read_data(tmp_path / "a.npy", ReadOptions(label="50"))
    with pytest.raises(ValueError, match="either the column"):
        read_data(tmp_path / "a.npy", ReadOptions(label="0", labels=tmp_path / "a.npy"))
    with pytest.raises(ValueError, match="there are no labels"):
        read_data(tmp_path / "a.npy")


def test_tables_without_names(tmp_path):
    (tmp_path / "t.csv").write_text("1.5,2,1\n2.5,1,0\n0.5,2,1\n")
    data = read_data(tmp_path / "t.csv", ReadOptions(label="2", header=False))
    np.testing.assert_array_equal(data.X, [[1.5, 2], [2.5, 1], [0.5, 2]])
    assert data.y.tolist() == [1, 0, 1]
    assert data.feature_names == ["0", "1"]
    [block] = iter_data(tmp_path / "t.csv", model_of(2, source=data.source), ReadOptions())
    np.testing.assert_array_equal(block.X, data.X)
    assert block.y.tolist() == [1, 0, 1]


def test_truth_values_and_quoted_line_ends_come_back_when_predicting(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.io.tables.BLOCK_BYTES", 64)
    lines = ['1.5,true,"a\nb"', "2,false,c", '3,true,"d, ""e"""'] * 20
    (tmp_path / "t.csv").write_text("size,new,kind\n" + "\n".join(lines) + "\n")
    data = read_data(tmp_path / "t.csv", ReadOptions(label="kind"))
    assert data.X[:2].tolist() == [[1.5, 1.0], [2.0, 0.0]]
    model = Model("LinearSVC", {}, np.array(["c", "d"]), np.ones((1, 2)), np.zeros(1), source=data.source)
    blocks = list(iter_data(tmp_path / "t.csv", model, ReadOptions()))
    assert len(blocks) > 5
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), data.X)
    assert [label for block in blocks for label in block.y] == data.y.tolist() == ["a\nb", "c", 'd, "e"'] * 20


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_packed_tables(tmp_path, suffix):
    from maxmargin.io.files import open_to_write

    with open_to_write(tmp_path / f"t.csv{suffix}") as file:
        file.write(b"a,y\n1,0\n2,1\n")
    assert read_data(tmp_path / f"t.csv{suffix}").X.tolist() == [[1], [2]]
    [block] = iter_data(tmp_path / f"t.csv{suffix}", model_of(1, feature_names=["a"]), ReadOptions())
    assert block.X.tolist() == [[1], [2]]
    with pytest.raises(ValueError, match="unpack it first"):
        read_data(tmp_path / f"t.npz{suffix}")


def test_rows_without_a_label_can_be_predicted(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,0\n2,\n3,1\n")
    [block] = iter_data(tmp_path / "t.csv", model_of(1, feature_names=["a"]), ReadOptions())
    assert block.known.tolist() == [True, False, True]
    assert block.y[block.known].tolist() == [0, 1]
    (tmp_path / "t.csv").write_text("a,y\n1,\n2,\n")
    [block] = iter_data(tmp_path / "t.csv", model_of(1, feature_names=["a"]), ReadOptions())
    assert not block.known.any()


def test_sparse_arrays_that_point_outside_are_refused_and_others_are_put_in_order(tmp_path):
    from maxmargin import load_svmlight, save_svmlight

    arrays = {"data": np.array([1.0, 2.0, 3.0]), "indptr": np.array([0, 3, 3]), "shape": [2, 4], "y": [0, 1]}
    for wrong in (4, -1):
        np.savez(tmp_path / "a.npz", indices=np.array([2, 0, wrong]), **arrays)
        with pytest.raises(ValueError, match=r"a\.npz: X has column index"):
            read_data(tmp_path / "a.npz")
    np.savez(tmp_path / "a.npz", indices=np.array([2, 0, 2]), **arrays)
    data = read_data(tmp_path / "a.npz")
    save_svmlight(data.X, data.y, tmp_path / "a.svm")
    np.testing.assert_array_equal(
        load_svmlight(tmp_path / "a.svm", n_features=4)[0].toarray(), data.X.to_scipy().toarray()
    )


def test_the_label_column_of_npy_is_remembered(tmp_path):
    table = np.random.default_rng(0).normal(size=(20, 4))
    np.save(tmp_path / "t.npy", table)
    data = read_data(tmp_path / "t.npy", ReadOptions(label="-4"))
    model = model_of(3, source=data.source)
    [block] = iter_data(tmp_path / "t.npy", model, ReadOptions())
    np.testing.assert_array_equal(block.X, table[:, 1:])
    np.testing.assert_array_equal(block.y, table[:, 0])
    np.save(tmp_path / "u.npy", table[:, 1:])
    [block] = iter_data(tmp_path / "u.npy", model, ReadOptions())
    assert block.y is None


@pytest.mark.parametrize("junk", [b"\x93NUMPY\x01\x00\x46\x00" + b"(" * 70, b"junk", b"", b"\x80\x04junk"])
def test_junk_in_numpy_files(tmp_path, junk):
    for name in ("a.npy", "a.npz"):
        (tmp_path / name).write_bytes(junk)
        with pytest.raises(ValueError, match="not readable by numpy") as caught:
            read_data(tmp_path / name)
        assert "unsafe" not in str(caught.value)


def test_labels_from_a_file_count_more_than_a_column(tmp_path):
    table = np.random.default_rng(0).normal(size=(6, 3))
    np.save(tmp_path / "t.npy", table)
    np.save(tmp_path / "X.npy", table[:, 1:])
    np.save(tmp_path / "y.npy", np.arange(6))
    model = model_of(2, source={"label": 0})
    [block] = iter_data(tmp_path / "X.npy", model, ReadOptions(labels=tmp_path / "y.npy"))
    assert block.y.tolist() == list(range(6))
    with pytest.raises(ValueError, match="the data have 3 features, the model 2"):
        list(iter_data(tmp_path / "t.npy", model, ReadOptions(labels=tmp_path / "y.npy")))
    with pytest.raises(ValueError, match="either the column"):
        list(iter_data(tmp_path / "t.npy", model, ReadOptions(label="0", labels=tmp_path / "y.npy")))


def test_a_line_end_in_the_name_of_a_column(tmp_path):
    (tmp_path / "t.csv").write_text('"a\nb",y\n1,0\n2,1\n')
    data = read_data(tmp_path / "t.csv")
    assert data.feature_names == ["a\nb"]
    [block] = iter_data(tmp_path / "t.csv", model_of(1, source=data.source), ReadOptions())
    assert block.X.tolist() == [[1], [2]]


def test_damaged_archives_give_one_kind_of_error(tmp_path):
    np.savez(tmp_path / "a.npz", data=[1.0, 2.0], indices=[0, 1], indptr=[0, 1, 2], shape=[2, 2], y=[0, 1])
    whole = (tmp_path / "a.npz").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(1500):
        broken = bytearray(whole)
        for position in rng.integers(len(whole), size=rng.integers(1, 4)):
            broken[position] = rng.integers(256)
        (tmp_path / "b.npz").write_bytes(bytes(broken))
        with contextlib.suppress(ValueError):
            read_data(tmp_path / "b.npz")
