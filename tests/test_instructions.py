"""The inner loops take as many instructions as they did; counted by callgrind, where valgrind is installed."""

import json
import shutil

from benchmarks import instructions

if shutil.which("valgrind"):

    def test_inner_loops_take_as_many_instructions_as_are_kept():
        counts = instructions.count()
        assert set(counts) == set(instructions.inputs())
        assert min(counts.values()) > 1_000_000
        kept = json.loads(instructions.KEPT.read_text())
        # Another compiler makes other instructions.
        if kept["compiler"] == instructions.compiler():
            told = instructions.changes(counts, kept["counts"])
            advice = "if that is meant to be: python -m benchmarks.instructions --write"
            assert not told, "; ".join([*told, advice])


def test_a_change_beyond_two_percent_is_told():
    kept = {"same": 1000, "a little": 1000, "slower": 1000, "faster": 1000, "gone": 1000}
    counts = {"same": 1000, "a little": 1019, "slower": 1021, "faster": 900, "new": 5}
    assert instructions.changes(counts, kept) == [
        "faster: 900 instructions, 0.900 times those kept",
        "gone: no longer counted",
        "new: 5 instructions, none kept",
        "slower: 1021 instructions, 1.021 times those kept",
    ]
