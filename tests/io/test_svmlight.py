"""svmlight files: against a parser in plain Python and scikit-learn's, on clean, odd, broken and hostile text."""

import bz2
import gzip
import io
import lzma
import os
import random
import threading
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from maxmargin import SvmlightError, load_svmlight, save_svmlight
from maxmargin.io.svmlight import iter_svmlight

try:
    from compression import zstd
except ImportError:
    from backports import zstd

PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd.compress}


def read(text, **options):
    return load_svmlight(io.BytesIO(text if isinstance(text, bytes) else text.encode()), **options)


def plain_python(text, zero_based="auto"):
    """The same by the simplest means: rows as dicts, and labels."""
    rows, labels = [], []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if not words:
            continue
        labels.append(float(words[0]))
        pairs = [word.split(":") for word in words[1:] if not word.startswith("qid:")]
        rows.append({int(index): float(value) for index, value in pairs})
    smallest = min((min(row) for row in rows if row), default=1)
    base = 0 if zero_based is True or (zero_based == "auto" and smallest == 0) else 1
    return [{index - base: value for index, value in row.items()} for row in rows], labels


def as_dicts(X):
    return [
        dict(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in (X[[i]] for i in range(X.shape[0]))
    ]


def random_matrix(rows=200, features=50, seed=0, dtype=np.float64):
    X = sp.random(rows, features, density=0.2, format="csr", dtype=np.float64, random_state=seed)
    X.data = (X.data * 10.0 ** np.random.default_rng(seed).integers(-9, 9, size=X.nnz)).astype(dtype)
    return X, np.random.default_rng(seed).integers(-3, 4, size=rows).astype(np.float64)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_agrees_with_scikit_learn(tmp_path, n_jobs, dtype):
    X, y = random_matrix(rows=4000, dtype=dtype)
    path = tmp_path / "data.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    found, labels = load_svmlight(path, dtype=dtype, n_jobs=n_jobs)
    expected, expected_labels = load_svmlight_file(str(path), dtype=dtype)
    assert found.dtype == dtype
    assert found.indices.dtype == found.indptr.dtype == np.int32
    np.testing.assert_array_equal(found.toarray(), expected.toarray())
    np.testing.assert_array_equal(labels, expected_labels)


ODD = "+1 1:1e-2 3:.5\r\n\r\n# all comment 1:2\n-1.5e0 2:-3.  7:+4E1   # tail 9:9\n\t2\t1:0\t2:7\n\n3 # no features\n4"


@pytest.mark.parametrize("text", [ODD, ODD + "\n", ODD + "\r\n\n\n", "\ufeff" + ODD])
def test_comments_blank_lines_line_ends_signs_exponents_and_a_missing_final_newline(text):
    X, y = read(text)
    rows, labels = plain_python(text.replace("\ufeff", ""))
    assert as_dicts(X) == rows
    assert y.tolist() == labels == [1.0, -1.5, 2.0, 3.0, 4.0]


LINES = st.lists(
    st.builds(
        lambda label, row, space, comment: (
            space.join([repr(label), *(f"{k}:{v!r}" for k, v in sorted(row.items()))]) + comment
        ),
        st.floats(-1e300, 1e300),
        st.dictionaries(st.integers(0, 300), st.floats(-1e300, 1e300), max_size=6),
        st.sampled_from([" ", "  ", "\t", " \t "]),
        st.sampled_from(["", " ", " # x 5:5", "#"]),
    ),
    max_size=30,
)


@settings(max_examples=300)
@given(LINES, st.sampled_from(["\n", "\r\n", "\n\n"]), st.sampled_from([1, 2, 3]), st.booleans())
def test_agrees_with_plain_python(lines, end, n_jobs, final):
    text = end.join(lines) + (end if final else "")
    X, y = read(text, n_jobs=n_jobs)
    rows, labels = plain_python(text)
    assert as_dicts(X) == rows
    assert y.tolist() == labels


def test_threads_and_blocks_change_nothing(tmp_path, monkeypatch):
    X, y = random_matrix(rows=3000, features=500)
    lines = io.BytesIO()
    save_svmlight(X, y, lines)
    # comments, blank lines and qid make the slices of the threads unequal to their bounds
    generator = random.Random(0)
    text = b"".join(
        (b"# 1:1 2:2\n\n" if generator.random() < 0.2 else b"") + line.replace(b" ", b" qid:7 ", 1)
        for line in lines.getvalue().splitlines(keepends=True)
    )
    path = tmp_path / "data.svm"
    path.write_bytes(text)
    one, labels, qid = load_svmlight(path, qid=True, n_features=500)
    assert (one != X).nnz == 0
    assert qid.tolist() == [7] * 3000
    monkeypatch.setattr("maxmargin.io.svmlight.BLOCK", 1000)
    for source, n_jobs in [(path, 4), (io.BytesIO(text), 1), (io.BytesIO(text), 3)]:
        other, other_labels, other_qid = load_svmlight(source, qid=True, n_features=500, n_jobs=n_jobs)
        for name in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        np.testing.assert_array_equal(labels, other_labels)
        np.testing.assert_array_equal(qid, other_qid)
    blocks = [block for block, _ in iter_svmlight(path, n_features=500, zero_based=False, dtype="f8", block=5000)]
    assert len(blocks) > 10
    assert sum(block.X.shape[0] for block in blocks) == 3000
    np.testing.assert_array_equal(np.concatenate([block.X.data for block in blocks]), one.data)


@pytest.mark.parametrize("suffix", list(PACKERS))
def test_compressed_files_by_content_and_back(tmp_path, suffix):
    X, y = random_matrix()
    path = tmp_path / f"data.svm{suffix}"
    save_svmlight(X, y, path)
    again, labels = load_svmlight(path, n_features=X.shape[1])
    assert (again != X).nnz == 0
    assert labels.tolist() == y.tolist()
    nameless = tmp_path / "data"
    nameless.write_bytes(path.read_bytes())
    assert (load_svmlight(nameless, n_features=X.shape[1])[0] != X).nnz == 0
    packed = path.read_bytes()
    for cut in (len(packed) // 2, len(packed) - 3, 9):
        path.write_bytes(packed[:cut])
        with pytest.raises(ValueError, match=r"data\.svm.*(cut off|damaged)"):
            load_svmlight(path)
    path.write_bytes(b"1 1:1\n")
    with pytest.raises(ValueError, match="the name says"):
        load_svmlight(path)


@pytest.mark.parametrize(
    ("text", "zero_based", "n_features", "expected"),
    [
        ("1 0:5 1:6\n", "auto", None, [[5, 6]]),
        ("1 1:5 2:6\n", "auto", None, [[5, 6]]),
        ("1 1:5 2:6\n", True, None, [[0, 5, 6]]),
        ("1 1:5 2:6\n", False, 3, [[5, 6, 0]]),
        ("1 1:5\n2 0:1\n", "auto", 2, [[0, 5], [1, 0]]),
        ("1\n2\n", "auto", 2, [[0, 0], [0, 0]]),
    ],
)
def test_zero_based_and_one_based(text, zero_based, n_features, expected):
    X, _ = read(text, zero_based=zero_based, n_features=n_features)
    assert X.toarray().tolist() == expected


def test_one_base_for_the_whole_stream(monkeypatch):
    monkeypatch.setattr("maxmargin.io.svmlight.BLOCK", 8)
    X, _ = read("1 1:5 \n" * 50 + "1 0:1\n")
    assert X.shape == (51, 2)
    assert X[[0]].indices.tolist() == [1]


def test_query_numbers():
    X, y, qid = read("3 qid:1 1:2\n2 qid:1 2:1 # a\n1 qid:123456789012345678 1:1\n", qid=True)
    assert qid.tolist() == [1, 1, 123456789012345678]
    assert X.shape == (3, 2)
    assert y.tolist() == [3, 2, 1]
    assert read("3 qid:1 1:2\n")[0].nnz == 1
    with pytest.raises(ValueError, match="line 2, column 3: the line has no qid:"):
        read("3 qid:1 1:2\n2 1:2\n", qid=True)


def test_several_labels():
    X, y = read("1,2 1:1\n 2:5\n3 1:1 # c\n-1.5,2e1,7\n", multilabel=True)
    assert y == [(1.0, 2.0), (), (3.0,), (-1.5, 20.0, 7.0)]
    assert X.shape == (4, 2)
    file = io.BytesIO()
    save_svmlight(X, y, file, multilabel=True)
    again, labels = read(file.getvalue(), multilabel=True)
    assert labels == y
    assert (again != X).nnz == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:1\nx 1:1\n", "line 2, column 1: expected a label"),
        ("1 1:1\n1:1\n", "line 2, column 1: expected a label, a number, before the first feature"),
        ("1,2 1:1\n", "line 1, column 1: a comma after the label"),
        ("1 1:1 2\n", "line 1, column 7: expected index:value"),
        ("1 1:1 a:2\n", "line 1, column 7: expected index:value"),
        ("1 -1:2\n", "line 1, column 3: expected index:value"),
        ("1 1:1 2:\n", "line 1, column 9: expected a finite number"),
        ("1 1:1 2:x\n", "line 1, column 9: expected a finite number"),
        ("1 1:1 2:1x\n", "line 1, column 9: expected a finite number"),
        ("1 1:nan\n", "line 1, column 5: expected a finite number"),
        ("1 1:inf\n", "line 1, column 5: expected a finite number"),
        ("nan 1:1\n", "line 1, column 1: expected a label"),
        ("1 1:0x10\n", "line 1, column 5: expected a finite number"),
        ("1 1:1_0\n", "line 1, column 5: expected a finite number"),
        ("1 1:1e\n", "line 1, column 5: expected a finite number"),
        ("1 2:1 1:1\n", "line 1, column 7: feature indices must increase"),
        ("1 2:1 2:1\n", "line 1, column 7: the feature index appears twice"),
        ("1 1:1 qid:4\n", "line 1, column 7: qid: must come right after the label"),
        ("1 qid:x 1:1\n", "line 1, column 3: expected qid: and a whole number"),
        ("1 1234567890123456789:1\n", "line 1, column 3: the feature index is too large"),
        ("1 1:1\n\n# c\n1 1: 2\n", "line 4, column 5: expected a finite number"),
        ("1 1:1\x00\n", "line 1, column 5: expected a finite number"),
    ],
)
def test_errors_name_line_and_column_and_show_the_text(text, message):
    with pytest.raises(SvmlightError) as caught:
        read(text)
    assert message in str(caught.value)
    shown, caret = str(caught.value).splitlines()[1:]
    line, column, _ = caught.value.complaints[0]
    bad_line = "".join(c if " " <= c <= "~" else "?" for c in text.split("\n")[line - 1])
    assert shown[2:] == bad_line
    assert caret.index("^") - 2 == column - 1


def test_errors_in_long_lines_show_the_place():
    text = "1 " + " ".join(f"{k}:1" for k in range(1, 100_000)) + " oops " + "1:1 " * 1000
    with pytest.raises(SvmlightError) as caught:
        read(text)
    shown, caret = str(caught.value).splitlines()[1:]
    assert shown[caret.index("^") :].startswith("oops")
    assert len(shown) < 100


def test_several_bad_lines_at_once(tmp_path):
    text = "1 1:1\nbad\n1 2:x\n1 1:1\n1 3:3 2:2\nworse\n"
    with pytest.raises(SvmlightError) as caught:
        read(text, max_errors=3)
    assert [complaint[:2] for complaint in caught.value.complaints] == [(2, 1), (3, 5), (5, 7)]
    path = tmp_path / "big.svm"
    path.write_text(("1 1:1\n" * 20_000 + "oops\n") * 3)
    for n_jobs in (1, 3):
        with pytest.raises(SvmlightError) as caught:
            load_svmlight(path, n_jobs=n_jobs, max_errors=2)
        assert [complaint[0] for complaint in caught.value.complaints] == [20_001, 40_002]
        assert str(path) in str(caught.value)


def test_lines_are_counted_across_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("maxmargin.io.svmlight.BLOCK", 100)
    text = b"1 1:1\n" * 999 + b"1 1:oops\n"
    with pytest.raises(ValueError, match="line 1000, column 5"):
        read(text)
    path = tmp_path / "data.svm"
    path.write_bytes(text)
    with pytest.raises(ValueError, match="line 1000, column 5"):
        list(iter_svmlight(path, n_features=1, zero_based=False, dtype="f8", block=100))


def test_limits_on_indices():
    with pytest.raises(ValueError, match="line 1, column 7: the feature index is beyond the number of features"):
        read("1 1:1 4:1\n", n_features=3)
    with pytest.raises(ValueError, match="feature index 0 in a file that is read as one-based"):
        read("1 0:1\n", zero_based=False)
    with pytest.raises(ValueError, match=r"zero-based.*at least 4 features, not 3"):
        read("1 0:1 3:1\n", n_features=3)
    with pytest.raises(ValueError, match="the value is too large for float32"):
        read("1 1:1e39\n", dtype=np.float32)


def test_indices_beyond_32_bits():
    X, _ = read(f"1 1:1 {2**31}:2\n1 {2**31 + 5}:3 {10**17}:4\n")
    assert X.indices.dtype == np.int64
    assert X.indices.tolist() == [0, 2**31 - 1, 2**31 + 4, 10**17 - 1]
    assert X.shape == (2, 10**17)


def test_a_line_of_ten_megabytes():
    count = 1_000_000
    X, y = read("-2 " + " ".join(f"{k}:{k % 7}.5" for k in range(1, count + 1)), n_jobs=3)
    assert X.shape == (1, count)
    np.testing.assert_array_equal(X.data, np.arange(1, count + 1) % 7 + 0.5)
    assert y.tolist() == [-2]


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n\n", "\r\n \t\n"])
def test_no_rows(text, tmp_path):
    X, y = read(text)
    assert X.shape == (0, 0)
    assert y.shape == (0,)
    path = tmp_path / "empty.svm"
    path.write_text(text)
    assert load_svmlight(path, n_features=3)[0].shape == (0, 3)


def test_labels_only():
    X, y = read("1\n-1\n")
    assert X.shape == (2, 0)
    assert y.tolist() == [1, -1]


SAMPLE = b"+1 qid:3 1:0.25 12:-3e2 # c\r\n-1.5 2:7\n\n1 3:1e-3"


def complaints_of(text, **options):
    """How many bad lines there are; without any, the result must be a proper matrix with as many labels."""
    try:
        X, y = read(text, **options)[:2]
    except SvmlightError as error:
        return len(error.complaints)
    except ValueError as error:
        if "compressed data" not in str(error):
            raise
        return 1  # the first bytes look like those of gzip
    assert X.shape[0] == len(y)
    X.check_format()
    assert np.all(np.isfinite(X.data))
    return 0


def test_text_cut_at_every_byte():
    for cut in range(len(SAMPLE) + 1):
        complaints_of(SAMPLE[:cut])
        complaints_of(SAMPLE[cut:])


def test_every_bit_of_a_text_flipped():
    for position in range(len(SAMPLE)):
        for bit in range(8):
            broken = bytearray(SAMPLE)
            broken[position] ^= 1 << bit
            complaints_of(bytes(broken))


@settings(max_examples=1000)
@given(st.binary(max_size=200) | st.text(alphabet="01239:.e+- #qid,\t\r\n", max_size=120).map(str.encode))
@example(b"1 1:1\n\xff\xfe")
@example(b"1" * 70_000)
@example(b":" * 1000)
def test_any_bytes_at_all(text):
    complaints_of(text)
    complaints_of(text, dtype=np.float32)
    several = {"multilabel": True, "qid": True, "zero_based": False, "max_errors": 5}
    assert complaints_of(text, n_jobs=1, **several) == complaints_of(text, n_jobs=2, **several) <= 5


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("zero_based", [True, False])
def test_what_is_written_reads_back_to_the_same_bits(tmp_path, dtype, zero_based):
    bits = np.random.default_rng(0).integers(0, 2**63, size=20_000, dtype=np.int64)
    values = bits.view(np.float64) if dtype == np.float64 else bits.astype(np.int32).view(np.float32)
    values = values[np.isfinite(values)][:12_000].reshape(-1, 40)
    values[0, :4] = [0.0, -0.0, 7.038531e-26, 1e-45]
    rows = len(values)
    X = sp.csr_array((values.ravel(), np.tile(np.arange(40), rows), np.arange(0, rows * 40 + 1, 40)), shape=(rows, 41))
    y = bits[:rows].view(np.float64)
    y = np.where(np.isfinite(y), y, 0.0)
    save_svmlight(X, y, tmp_path / "data.svm", zero_based=zero_based, comment="two\nlines", qid=np.arange(rows))
    again, labels, qid = load_svmlight(
        tmp_path / "data.svm", dtype=dtype, n_features=41, zero_based=zero_based, qid=True
    )
    kind = np.int32 if dtype == np.float32 else np.int64
    np.testing.assert_array_equal(again.data.view(kind), X.data.view(kind))
    np.testing.assert_array_equal(again.indices, X.indices)
    np.testing.assert_array_equal(again.indptr, X.indptr)
    np.testing.assert_array_equal(labels.view(np.int64), y.view(np.int64))
    np.testing.assert_array_equal(qid, np.arange(rows))


def test_writing_takes_what_users_have(tmp_path):
    dense = np.array([[0.0, 2.0, 0.0], [1.5, 0.0, 0.0]])
    unsorted = sp.csr_matrix((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3, 3])), shape=(2, 3))
    for X, expected in [
        (dense, dense),
        (dense.astype(int), dense.astype(int)),
        (sp.coo_array(dense), dense),
        (sp.csc_array(dense.astype(np.float32)), dense),
        (unsorted, unsorted.toarray()),
        (np.asfortranarray(dense), dense),
        (sp.csr_array(dense.astype(np.uint8)), dense.astype(np.uint8)),
    ]:
        save_svmlight(X, [1, 2], tmp_path / "data.svm")
        again, y = load_svmlight(tmp_path / "data.svm", n_features=3)
        np.testing.assert_array_equal(again.toarray(), expected)
        assert y.tolist() == [1, 2]
    assert unsorted.indices.tolist() == [2, 0, 2], "the user's matrix is left alone"


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.array([[np.nan]]), [1], {}, "NaN or infinity"),
        (np.eye(2), [1], {}, r"y must have shape \(2,\)"),
        (np.eye(2), [1, np.inf], {}, "y contains NaN"),
        (np.eye(2), [1, 2**60 + 1], {}, "too large for a double"),
        (np.eye(2), ["a", "b"], {}, "labels are numbers"),
        (np.eye(2), [1, 2], {"qid": [1.5, 2]}, "qid must hold"),
        (np.eye(2), [1, 2], {"qid": [-1, 2]}, "qid must hold"),
        (np.ones(2), [1, 2], {}, "two dimensions"),
        (np.array([["a"]]), [1], {}, "must hold numbers"),
        (np.zeros((2, 1)), [[1.0], []], {"multilabel": True}, "row 1 has neither labels nor features"),
    ],
)
def test_what_cannot_be_written_leaves_the_old_file(tmp_path, X, y, options, message):
    path = tmp_path / "data.svm"
    path.write_text("precious")
    with pytest.raises((ValueError, TypeError), match=message):
        save_svmlight(X, y, path, **options)
    assert path.read_text() == "precious"
    assert os.listdir(tmp_path) == ["data.svm"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": np.int32}, "dtype must be float32 or float64"),
        ({"n_features": 0}, "n_features must be at least 1"),
        ({"zero_based": "maybe"}, "zero_based must be"),
        ({"max_errors": 0}, "max_errors must be at least 1"),
        ({"n_jobs": 0}, "n_jobs=0"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        read("1 1:1\n", **options)


def test_wrong_kinds_of_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_svmlight(tmp_path / "missing.svm")
    with pytest.raises(IsADirectoryError):
        load_svmlight(tmp_path)
    with pytest.raises(TypeError, match="binary mode"):
        load_svmlight(io.StringIO("1 1:1\n"))
    if os.geteuid() != 0:
        locked = tmp_path / "locked.svm"
        locked.write_text("1 1:1\n")
        locked.chmod(0)
        with pytest.raises(PermissionError):
            load_svmlight(locked)


@pytest.mark.parametrize("suffix", list(PACKERS))
def test_packed_streams(suffix):
    assert read(PACKERS[suffix](b"1 1:1\n-1 2:1\n"))[0].shape == (2, 2)
    with pytest.raises(ValueError, match="compressed data are damaged"):
        read(PACKERS[suffix](b"1 1:1\n-1 2:1\n" * 99)[:-5])


def test_a_named_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"1 1:1\n-1 2:1\n",))
    writer.start()
    X, y = load_svmlight(path)
    writer.join()
    assert X.shape == (2, 2)
    assert y.tolist() == [1, -1]


def test_a_file_in_the_middle_is_read_from_there(tmp_path):
    path = tmp_path / "data.svm"
    path.write_text("skip me\n1 1:1\n")
    with open(path, "rb") as file:
        file.readline()
        assert load_svmlight(file)[0].shape == (1, 1)


def test_indices_at_the_edge_of_32_bits_in_a_zero_based_file():
    X, _ = read(f"1 0:1 {2**31}:1\n")
    assert X.indices.tolist() == [0, 2**31]
    X, _ = read(f"1 0:1 {2**31 - 1}:1\n")
    assert X.indices.tolist() == [0, 2**31 - 1]


@pytest.mark.parametrize(("value", "expected"), [(0, [0, 2]), (np.False_, [0, 2]), (1, [1, 3]), (np.True_, [1, 3])])
def test_other_words_for_yes_and_no(value, expected):
    assert read("1 1:1 3:1\n", zero_based=value)[0].indices.tolist() == expected
    if not value:
        with pytest.raises(ValueError, match="read as one-based"):
            read("1 0:1 3:1\n", zero_based=value)


def test_query_numbers_if_there_are_any():
    from maxmargin.io.svmlight import read_svmlight

    assert read_svmlight(io.BytesIO(b"1 qid:5 1:1\n2 qid:6 1:1\n"), qid=None).qid.tolist() == [5, 6]
    assert read_svmlight(io.BytesIO(b"1 1:1\n2 1:1\n"), qid=None).qid is None
    with pytest.raises(ValueError, match="some rows have a qid: and others have none"):
        read_svmlight(io.BytesIO(b"1 1:1\n2 qid:6 1:1\n"), qid=None)


def test_the_largest_query_numbers_and_rows_of_nothing_else():
    file = io.BytesIO()
    X = sp.csr_matrix((2, 3))
    save_svmlight(X, [[], [1.0]], file, multilabel=True, qid=[10**18 - 1, 0])
    again, labels, qid = load_svmlight(io.BytesIO(file.getvalue()), multilabel=True, qid=True, n_features=3)
    assert (labels, qid.tolist(), again.shape) == ([(), (1.0,)], [10**18 - 1, 0], (2, 3))
    for wrong in (np.array([10**18, 0]), np.array([2**63 + 5, 0], dtype=np.uint64)):
        with pytest.raises(ValueError, match="qid must hold"):
            save_svmlight(X, [1, 2], io.BytesIO(), qid=wrong)


@pytest.mark.parametrize("name", ["rows.svm", Path("rows.svm")])
def test_a_path_in_the_place_of_rows_is_recognised(name):
    with pytest.raises(TypeError, match=r"rows, labels and then the path, and got 'rows\.svm' as the rows"):
        save_svmlight(name, np.ones((2, 2)), [1, -1])
