"""Folders of blocks: what goes in comes out, whatever the source; interruptions are gone on from, damage is named."""

import gzip
import json
import os
import signal
import subprocess
import sys
import textwrap
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from maxmargin import Blocks, BlocksError, open_blocks, save_svmlight, write_blocks
from maxmargin.solvers.memory import parse_memory


def data(rows=200, columns=30, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = sparse.random(rows, columns, density=0.2, format="csr", random_state=seed, dtype=dtype)
    return X, rng.integers(0, 3, rows), rng.uniform(0, 2, rows), np.sort(rng.integers(0, 20, rows))


def same(blocks, X, y=None, weight=None, qid=None):
    __tracebackhide__ = True
    loaded = blocks.load()
    assert blocks.shape == X.shape == loaded.shape
    assert np.array_equal(loaded.toarray(), X.toarray() if hasattr(X, "toarray") else np.asarray(X))
    for found, expected in ((blocks.y, y), (blocks.sample_weight, weight), (blocks.qid, qid)):
        assert (found is None) == (expected is None)
        assert expected is None or np.array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "store", [lambda X: X, lambda X: X.toarray(), lambda X: X.tocsc()], ids=["csr", "dense", "csc"]
)
def test_arrays_come_out_as_they_went_in(tmp_path, store, dtype):
    X, y, weight, qid = data(dtype=dtype)
    blocks = write_blocks((store(X), y, weight, qid), tmp_path / "a", block_bytes=3000)
    assert blocks.n_blocks > 5
    assert blocks.dtype == dtype
    same(blocks, X, y, weight, qid)
    assert os.listdir(tmp_path / "a").count("journal.jsonl") == 0


def test_iterators_of_any_chunks_are_regrouped(tmp_path):
    X, y, _, _ = data(rows=300)
    cuts = [0, 1, 1, 2, 150, 151, 300]
    chunks = [(X[a:b], y[a:b]) for a, b in pairwise(cuts)]
    blocks = write_blocks(iter(chunks), tmp_path / "a", block_bytes=4000)
    same(blocks, X, y)
    sizes = [entry["bytes"] for entry in blocks.manifest["blocks"]]
    assert max(sizes) < 3 * min(sizes[:-1])


@pytest.mark.parametrize("labels", [["no", "yes"], [True, False], [-1.5, 2.0], [10**12, -3]], ids=repr)
def test_labels_of_all_kinds_survive(tmp_path, labels):
    X, _, _, _ = data()
    y = np.array(labels)[np.random.default_rng(1).integers(0, 2, 200)]
    blocks = write_blocks((X, y), tmp_path / "a", block_bytes=3000)
    assert np.array_equal(blocks.y, y)
    assert blocks.y.dtype.kind == y.dtype.kind
    assert np.array_equal(blocks.classes, np.unique(y))


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_text_becomes_blocks_packed_or_not(tmp_path, suffix):
    X, y, _, qid = data()
    name = str(tmp_path / f"a.svm{suffix}")
    save_svmlight(X, y, name, qid=qid)
    blocks = write_blocks(name, tmp_path / "a.blocks", block_bytes=3000)
    same(blocks, X, y, None, qid)
    assert blocks.source == {"zero_based": False}


def test_many_files_become_one_folder_with_the_columns_of_the_widest(tmp_path):
    X, y, _, _ = data()
    for number, (a, b) in enumerate([(0, 50), (50, 120), (120, 200)]):
        save_svmlight(X[a:b, : 25 if number == 0 else 30], y[a:b], tmp_path / f"{number}.svm")
    expected = sparse.vstack([sparse.hstack([X[:50, :25], sparse.csr_matrix((50, 5))]), X[50:]])
    same(write_blocks([tmp_path / f"{k}.svm" for k in range(3)], tmp_path / "a"), expected, y)


def test_an_index_of_zero_in_a_later_file_makes_all_text_zero_based(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:5 2:6\n-1 2:1\n")
    (tmp_path / "b.svm").write_text("1 0:7\n")
    blocks = write_blocks([tmp_path / "a.svm", tmp_path / "b.svm"], tmp_path / "x", block_bytes=40)
    assert blocks.load().toarray().tolist() == [[0, 5, 6], [0, 0, 1], [7, 0, 0]]
    assert blocks.source == {"zero_based": True}


def test_arrays_of_numpy_files_become_blocks(tmp_path):
    X, y, _, _ = data()
    np.savez(tmp_path / "a.npz", X=X.toarray(), y=y)
    same(write_blocks(tmp_path / "a.npz", tmp_path / "a.blocks", block_bytes=3000), X, y)


def test_queries_stay_whole_where_their_rows_follow_each_other(tmp_path):
    X, y, _, qid = data(rows=400)
    blocks = write_blocks((X, y, None, qid), tmp_path / "a", block_bytes=2000)
    seen = [set(block.qid.tolist()) for block in blocks.blocks()]
    assert len(seen) > 5
    assert sum(map(len, seen)) == len(set(qid.tolist()))
    chunks = ((X[k : k + 7], y[k : k + 7], None, qid[k : k + 7]) for k in range(0, 400, 7))
    other = write_blocks(chunks, tmp_path / "b", block_bytes=2000)
    same(other, X, y, None, qid)
    assert sum(len(set(block.qid.tolist())) for block in other.blocks()) == len(set(qid.tolist()))


def test_parts_of_the_rows_are_read_without_the_others(tmp_path):
    X, y, weight, _ = data()
    blocks = write_blocks((X, y, weight), tmp_path / "a", block_bytes=3000)
    rows = np.sort(np.random.default_rng(2).choice(200, 40, replace=False))
    same(blocks[rows], X[rows], y[rows], weight[rows])
    mask = np.arange(200) % 3 == 0
    same(blocks[mask][::2], X[np.flatnonzero(mask)[::2]], y[mask][::2], weight[mask][::2])
    same(blocks[150:], X[150:], y[150:], weight[150:])
    begins = [block.begin for block in blocks[rows].blocks()]
    assert begins == sorted(begins)
    assert begins[0] == 0
    with pytest.raises(IndexError, match="rising numbers"):
        blocks[[3, 2]]


def test_nothing_of_a_folder_is_overwritten(tmp_path):
    X, y, _, _ = data()
    write_blocks((X, y), tmp_path / "a")
    with pytest.raises(FileExistsError, match="finished folder of blocks; remove it"):
        write_blocks((X, y), tmp_path / "a")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "letter.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="is no folder of blocks"):
        write_blocks((X, y), tmp_path / "b")


# Interruptions.


def fail_after(chunks, count):
    yield from (chunk for _, chunk in zip(range(count), chunks, strict=False))
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("count", [1, 3, 9])
def test_an_interrupted_iterator_goes_on_and_gives_the_same_folder(tmp_path, count):
    X, y, weight, _ = data()
    chunks = [(X[k : k + 20], y[k : k + 20], weight[k : k + 20]) for k in range(0, 200, 20)]
    with pytest.raises(OSError, match="No space"):
        write_blocks(fail_after(chunks, count), tmp_path / "a", block_bytes=3000)
    with pytest.raises(BlocksError, match="not finished; run write_blocks"):
        open_blocks(tmp_path / "a")
    write_blocks(iter(chunks), tmp_path / "b", block_bytes=3000)
    same(write_blocks(iter(chunks), tmp_path / "a", block_bytes=3000), X, y, weight)
    for name in sorted(os.listdir(tmp_path / "b")):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_going_on_with_another_source_is_refused(tmp_path):
    X, y, _, _ = data()
    chunks = [(X[k : k + 20], y[k : k + 20]) for k in range(0, 200, 20)]
    with pytest.raises(OSError, match="No space"):
        write_blocks(fail_after(chunks, 6), tmp_path / "a", block_bytes=3000)
    with pytest.raises(ValueError, match="other rows than those in"):
        write_blocks(iter([(2 * X, y)]), tmp_path / "a", block_bytes=3000)
    with pytest.raises(ValueError, match="another source"):
        write_blocks((X, y), tmp_path / "a", block_bytes=3000)
    with pytest.raises(ValueError, match=r"other rows|fewer rows"):
        write_blocks(iter(chunks[:1]), tmp_path / "a", block_bytes=3000)
    same(write_blocks(iter(chunks), tmp_path / "a", block_bytes=3000), X, y)


def test_a_full_disk_leaves_a_folder_that_can_be_gone_on_with(tmp_path, monkeypatch):
    from maxmargin.io import block_writer

    X, y, _, _ = data()
    whole, count = block_writer.atomic_write, iter(range(100))

    def full(path, *args):
        if next(count) == 3:
            raise OSError(28, "No space left on device")
        return whole(path, *args)

    monkeypatch.setattr(block_writer, "atomic_write", full)
    with pytest.raises(OSError, match="No space"):
        write_blocks((X, y), tmp_path / "a", block_bytes=3000)
    monkeypatch.undo()
    same(write_blocks((X, y), tmp_path / "a", block_bytes=3000), X, y)


def test_a_conversion_that_is_killed_goes_on_at_a_later_chunk_of_the_file(tmp_path):
    X, y, _, qid = data(rows=3000)
    name = tmp_path / "a.svm"
    save_svmlight(X, y, name, qid=qid)
    script = textwrap.dedent(
        f"""
        import os, signal
        from maxmargin.io import block_writer, svmlight
        svmlight.iter_text_blocks.__kwdefaults__["block"] = 20000
        done = iter(range(100))
        def progress(share):
            if next(done) == 5:
                os.kill(os.getpid(), signal.SIGKILL)
        block_writer.write_blocks({str(name)!r}, {str(tmp_path / "a.blocks")!r}, block_bytes=9000, progress=progress)
        """
    )
    ended = subprocess.run([sys.executable, "-c", script], check=False)
    assert ended.returncode == -signal.SIGKILL
    journal = (tmp_path / "a.blocks" / "journal.jsonl").read_text().splitlines()
    assert len(journal) > 5
    assert json.loads(journal[-1])["position"][1] > 2
    # The last line may have been cut off.
    (tmp_path / "a.blocks" / "journal.jsonl").write_text("\n".join(journal) + '\n{"file": "blo')
    again = subprocess.run(
        [sys.executable, "-c", script.replace("os.kill(os.getpid(), signal.SIGKILL)", "pass")], check=False
    )
    assert again.returncode == 0
    same(open_blocks(tmp_path / "a.blocks"), X, y, None, qid)


def test_a_file_that_changed_meanwhile_is_refused(tmp_path):
    X, y, _, _ = data()
    name = tmp_path / "a.svm"
    save_svmlight(X, y, name)
    (tmp_path / "a").mkdir()
    head = {"version": 1, "source": {"files": [[str(name), 1, 2]], "options": []}, "dtype": "None", "size": 8388608}
    (tmp_path / "a" / "journal.jsonl").write_text(json.dumps(head) + "\n")
    with pytest.raises(ValueError, match="files that have changed since"):
        write_blocks(name, tmp_path / "a")


# Damage.


@pytest.fixture
def folder(tmp_path):
    X, y, _, _ = data()
    write_blocks((X, y), tmp_path / "a", block_bytes=3000)
    return tmp_path / "a"


def test_a_missing_block_is_named_when_the_folder_is_opened(folder):
    os.unlink(folder / "block-000002.safetensors")
    with pytest.raises(BlocksError, match=r"block-000002\.safetensors is missing"):
        open_blocks(folder)


def test_a_truncated_block_is_named_when_the_folder_is_opened(folder):
    name = folder / "block-000001.safetensors"
    name.write_bytes(name.read_bytes()[:-1])
    with pytest.raises(BlocksError, match=r"block-000001\.safetensors has .* bytes instead of"):
        open_blocks(folder)


@pytest.mark.parametrize("place", [0, 9, 300, -1])
def test_an_altered_block_is_named_when_it_is_read(folder, place):
    name = folder / "block-000003.safetensors"
    contents = bytearray(name.read_bytes())
    contents[place] ^= 1
    name.write_bytes(contents)
    with pytest.raises(BlocksError, match=r"block-000003\.safetensors: its checksum is wrong"):
        open_blocks(folder).load()
    with pytest.raises(BlocksError, match=r"block-000003\.safetensors: its checksum is wrong"):
        _ = open_blocks(folder).y


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.update(version=2), "format version 2"),
        (lambda m: m.update(kind="cake"), "does not belong"),
        (lambda m: m.pop("n_features"), "damaged"),
        (lambda m: m["blocks"][0].update(file="../../etc/passwd"), "damaged"),
        (lambda m: m["blocks"][0].update(rows=-1), "damaged"),
        (lambda m: m.update(blocks="all"), "damaged"),
    ],
)
def test_a_manifest_is_not_believed(folder, change, message):
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(BlocksError, match=message):
        open_blocks(folder)


@pytest.mark.parametrize("change", ["offsets", "dtype", "shape", "columns", "rows", "nan"])
def test_blocks_whose_checksum_was_made_to_fit_do_no_harm(folder, change):
    """What is hostile on purpose is an error as well, never a crash."""
    from hashlib import sha256

    name = folder / "block-000000.safetensors"
    contents = name.read_bytes()
    length = int.from_bytes(contents[:8], "little")
    header = contents[8 : 8 + length]
    if change == "columns":
        place = json.loads(header)["indices"]["data_offsets"][0] + 8 + length
        contents = contents[:place] + b"\xff\xff\xff\x7f" + contents[place + 4 :]
    elif change == "nan":
        place = json.loads(header)["data"]["data_offsets"][0] + 8 + length
        contents = contents[:place] + b"\xff" * 8 + contents[place + 8 :]
    elif change == "rows":
        place = json.loads(header)["indptr"]["data_offsets"][0] + 16 + length
        contents = contents[:place] + b"\xff" * 7 + b"\x7f" + contents[place + 8 :]
    else:
        entries = json.loads(header)
        entries["data"].update(
            {"offsets": {"data_offsets": [0, 10**15]}, "dtype": {"dtype": "F16"}, "shape": {"shape": [-1, -5]}}[change]
        )
        text = json.dumps(entries).encode()
        contents = len(text).to_bytes(8, "little") + text + contents[8 + length :]
    name.write_bytes(contents)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["blocks"][0].update(bytes=len(contents), sha256=sha256(contents).hexdigest())
    (folder / "manifest.json").write_text(json.dumps(manifest))
    from maxmargin import Matrix

    with pytest.raises(ValueError, match=r"block-000000|column index"):
        Matrix(open_blocks(folder).read(0).X)


# What does not fit.


def test_bad_chunks_are_named(tmp_path):
    X, y, weight, _ = data()
    nan = X.copy()
    nan.data[300] = np.nan
    for number, (chunks, message) in enumerate(
        [
            ([(X, y), (X[:, :20], y)], "chunk 1 has 20 columns, but the rows before it have 30"),
            ([(X, y), (nan, y)], "chunk 1: X contains NaN or infinity in row"),
            ([(X, y[:-1])], "chunk 0: y has the shape"),
            ([(X, y, weight), (X, y)], "chunk 1: either all chunks have sample_weight or none"),
            ([(X, y, -weight)], "sample_weight must be finite and not negative"),
            ([(X, y, None, weight)], "qid must hold whole numbers"),
            ([(X, y), (X, y.astype(str))], "labels are of the kind int in the first block and text"),
            ([(X, np.where(y == 1, np.nan, 1.0))], "labels must be finite"),
            ([], "the source has no rows"),
            ([X], "must be a tuple"),
        ]
    ):
        with pytest.raises(ValueError, match=message):
            write_blocks(iter(chunks), tmp_path / str(number), block_bytes=2000)


def test_empty_chunks_and_more_blocks_than_rows_are_fine(tmp_path):
    X, y, _, _ = data(rows=5)
    chunks = [(X[:0], y[:0]), (X[:2], y[:2]), (X[:0], y[:0]), (X[2:], y[2:])]
    blocks = write_blocks(iter(chunks), tmp_path / "a", block_bytes=1)
    assert blocks.n_blocks == 5
    same(blocks, X, y)


def test_memory_is_a_number_or_a_text(tmp_path):
    assert parse_memory("500MB") == 500 << 20
    assert parse_memory("1.5 gib") == 3 << 29
    assert parse_memory(1000) == 1000
    for wrong in ("much", -1, 0, "2 parsecs", True, "GB"):
        with pytest.raises(ValueError, match="memory="):
            parse_memory(wrong)


def test_reading_ahead_ends_with_the_iteration_and_passes_errors_on(folder):
    import threading

    def names():
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("maxmargin")]

    iterator = Blocks(folder).blocks()
    next(iterator)
    iterator.close()
    assert names() == []
    blocks = Blocks(folder)
    os.unlink(folder / "block-000004.safetensors")
    seen = []
    with pytest.raises(BlocksError, match="block-000004"):
        seen.extend(block.begin for block in blocks.blocks())
    assert len(seen) == 4
    assert names() == []


def test_gzip_that_is_cut_off_is_an_error_and_nothing_is_opened(tmp_path):
    packed = gzip.compress(b"1 1:2\n" * 1000)
    (tmp_path / "a.svm.gz").write_bytes(packed[:-20])
    with pytest.raises(ValueError, match=r"a\.svm\.gz: the compressed data are damaged"):
        write_blocks(tmp_path / "a.svm.gz", tmp_path / "a")
    with pytest.raises(BlocksError, match="not finished"):
        open_blocks(tmp_path / "a")
