"""Comparing two files of results: noise is noise, a change is told, another machine is no change."""

import json
import math

import numpy as np
import pytest
from benchmarks.history import compare, main, medians, read, statements


def lines(seconds, rival=None, commit="abc"):
    return [
        {"key": {"data": f"set{k}"}, "seconds": float(s), "commit": commit, "machine": "m"}
        | ({} if rival is None else {"rival_seconds": float(rival[k])})
        for k, s in enumerate(seconds)
    ]


def by_name(entries):
    return {f"set{k}": entry for k, entry in enumerate(entries)}


@pytest.mark.parametrize("pace", [1.0, 3.0])
@pytest.mark.parametrize("with_rival", [True, False])
def test_one_slower_cell_is_told_on_any_machine(pace, with_rival):
    rng = np.random.default_rng(0)
    base = rng.uniform(0.1, 10, 40)
    noise = np.exp(0.05 * rng.normal(size=40))
    after = pace * base * noise
    after[7] *= 2.0
    rival = rng.uniform(0.1, 10, 40)
    old = by_name(lines(base, rival if with_rival else None))
    new = by_name(lines(after, pace * rival if with_rival else None))
    (change,) = compare(old, new, 1.3)
    assert change.name == "set7"
    assert change.factor == pytest.approx(2.0, rel=0.15)


def test_noise_is_not_told():
    rng = np.random.default_rng(1)
    base = rng.uniform(0.1, 10, 60)
    noisy = base * np.exp(0.1 * rng.normal(size=60))
    assert len(compare(by_name(lines(base)), by_name(lines(noisy)), 1.3)) <= 2


@pytest.mark.parametrize("share", [1.0, 0.5])
@pytest.mark.parametrize("with_rival", [True, False])
def test_a_slowdown_of_many_lines_is_told(share, with_rival):
    rng = np.random.default_rng(2)
    base = rng.uniform(0.1, 10, 40)
    rival = rng.uniform(0.1, 10, 40) if with_rival else None
    slow = np.where(np.arange(40) < 40 * share, 3.0, 1.0)
    changes = compare(by_name(lines(base, rival)), by_name(lines(slow * base, rival)), 1.3)
    # Without a rival nobody can tell all lines of a slower program from a slower machine.
    expected = {f"set{k}" for k in range(int(40 * share))} if with_rival or share < 1 else set()
    assert {change.name for change in changes} == expected
    assert all(change.factor == pytest.approx(3.0) for change in changes)


@pytest.mark.parametrize("rival", [[1.0], None])
def test_a_single_line_is_compared_as_it_is(rival):
    (change,) = compare(by_name(lines([1.0], rival)), by_name(lines([10.0], rival)), 1.3)
    assert change.factor == pytest.approx(10.0)


def test_a_large_change_is_told_however_much_the_lines_scatter():
    rng = np.random.default_rng(4)
    base, rival = rng.uniform(0.1, 10, 60), rng.uniform(0.1, 10, 60)
    after = base * np.exp(rng.normal(size=60))
    told = {change.name for change in compare(by_name(lines(base, rival)), by_name(lines(after, rival)), 1.3)}
    assert told == {f"set{k}" for k in range(60) if abs(math.log(after[k] / base[k])) > math.log(1.5)}


def test_the_median_change_of_ratios_is_told():
    old, new = by_name(lines([1.0] * 9, [2.0] * 9)), by_name(lines([1.2] * 9, [2.0] * 9))
    assert medians(old, new) == ["median of 9 ratios to other programs: 1.20 times as long"]
    assert not compare(old, new, 1.3)


def test_ratios_of_statements_are_compared():
    def result(ratio):
        cells = [{"name": "a", "holds": True, "ratio": ratio}, {"name": "b", "holds": True, "ratio": None}]
        return {"i, full": {"seconds": 5.0, "cells": cells}}

    (change,) = compare(result(0.2), result(0.5), 1.3)
    assert str(change) == "i, full: a: 2.50 times as long"


def test_statements_that_changed_are_told():
    def result(holds):
        return {"i, quick": {"seconds": 1.0, "cells": [{"name": "a", "holds": holds}, {"name": "b", "holds": True}]}}

    assert statements(result(True), result(False)) == (["i, quick: a"], [])
    assert statements(result(False), result(True)) == ([], ["i, quick: a"])


def test_the_command_ends_with_1_if_something_is_slower(tmp_path, monkeypatch, capsys):
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text("\n".join(map(json.dumps, lines([1.0] * 10))))
    new.write_text("\n".join(map(json.dumps, lines([1.0] * 9 + [1.7], commit="def"))))
    assert read(new)["set9"]["commit"] == "def"
    for files, code in (((old, new), 1), ((new, old), 0), ((old, old), 0)):
        monkeypatch.setattr("sys.argv", ["history", *map(str, files)])
        with pytest.raises(SystemExit) as exit_:
            main()
        assert exit_.value.code == code
    assert "set9: 1.70 times as long" in capsys.readouterr().out
