"""A report in a headless Chromium, at desktop and phone width: what it draws is there, and what it does not is told."""

import pytest
from benchmarks.reproduce.items import Cell, Item, Line, Panel, Result, Table
from benchmarks.reproduce.page import page
from tests.browser import check

pytestmark = pytest.mark.skipif(check.program() is None, reason="chromium is not installed")


def report(*lines):
    panels = [Panel("a figure", "seconds", "error", list(lines))]
    table = Table("a table", [f"column {k}" for k in range(20)], [["a cell"] * 20])
    result = Result("settings", panels, [table], [Cell("a statement", True, "1 s against 2 s")])
    item = Item("paper000_x", "000", "a title", "A claim.", lambda _: result)
    measured = result.to_json() | {"seconds": 1.0, "missing": {}}
    return page([item], {item.name: measured}, {"machine": "a machine"}, {})


@pytest.fixture(params=check.WIDTHS.values(), ids=check.WIDTHS)
def looked_at(request, tmp_path):
    def look(text):
        path = tmp_path / "report.html"
        path.write_text(text)
        return check.look(path, request.param, None)

    return look


def test_a_report_is_drawn_and_fits_its_window(looked_at):
    told = looked_at(report(Line("one", [0.1, 1.0], [1.0, 0.1]), Line("a dot", [1.0], [0.5])))
    assert (told["figures"], told["curves"]) == (1, 2)
    assert check.wrong(told, figures=True) == []


def test_curves_and_figures_without_points_are_told(looked_at):
    good = report(Line("one", [0.1, 1.0], [1.0, 0.1]))
    start = good.index(' points="') + len(' points="')
    bare = good[:start] + good[good.index('"', start) :]
    assert check.wrong(looked_at(bare), figures=True) == ["undrawn"]
    assert check.wrong(looked_at(report()), figures=True) == ["empty", "no figures"]
