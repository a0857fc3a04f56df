"""The report: one HTML file with everything in it, figures as SVG, and beside each the claim and the verdict."""

from __future__ import annotations

from html import escape
from typing import Any

from benchmarks.reproduce.drawing import svg
from benchmarks.reproduce.items import VERDICTS, Item, Line, Panel

PAPERS = {
    "000": "Hsieh et al. 2008: A dual coordinate descent method for large-scale linear SVM",
    "001": "Glasmachers and Dogan 2013: Accelerated linear SVM training with adaptive variable selection frequencies",
    "002": "Mallela 2022: A dual and primal coordinate descent method for linear SVM",
    "003": "Keerthi et al. 2008: A sequential dual method for large scale multi-class linear SVMs",
    "004": "Joachims 2006: Training linear SVMs in linear time",
    "peers": "Other programs of today",
}
STYLE = """
:root { color-scheme: light dark; --text: #1c1e21; --soft: #5b6470; --page: #fff; --card: #f6f7f9; --line: #d9dde3;
  --confirmed: #1a7f37; --ratio: #0969da; --not: #b35900; --none: #6e7781 }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --soft: #a3abb6; --page: #14171a; --card: #1d2126;
  --line: #353b43; --confirmed: #4ac26b; --ratio: #6cb6ff; --not: #e8a33d; --none: #8b949e } }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 1100px; padding: 1rem; font: 16px/1.5 system-ui, sans-serif; color: var(--text);
  background: var(--page) }
h1 { font-size: 1.7rem } h2 { margin-top: 2.5rem; font-size: 1.25rem; border-bottom: 1px solid var(--line) }
h3 { margin: 0; font-size: 1.05rem } p { margin: .4rem 0 } .soft { color: var(--soft); font-size: .9rem }
section.item { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 1rem;
  margin: 1rem 0 }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 330px), 1fr)); gap: .5rem;
  margin: .6rem 0 }
.panels svg { width: 100%; height: auto; font: 12px system-ui, sans-serif; fill: var(--text) }
.grid { stroke: var(--line) } .level { stroke: var(--soft); stroke-dasharray: 2 4; stroke-width: 1.5 }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .87rem; margin: .6rem 0 }
caption { text-align: left; font-weight: 600; padding: .2rem 0 }
th, td { padding: .2rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 7rem }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem } dt { color: var(--soft) } dd { margin: 0 }
.verdict { display: inline-block; padding: 0 .6rem; border-radius: 1rem; border: 1.5px solid currentColor;
  font-weight: 600; font-size: .85rem }
.v0 { color: var(--confirmed) } .v1 { color: var(--ratio) } .v2 { color: var(--not) }
.v3, .v4 { color: var(--none) } a { color: var(--ratio) } details { margin-top: .5rem } summary { cursor: pointer }
"""


def page(items: list[Item], results: dict[str, dict[str, Any]], facts: dict[str, str], missing: dict[str, str]) -> str:
    """The whole document; items without a result are named as not run."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>maxmargin: the papers reproduced</title><style>{STYLE}</style></head><body>",
        "<h1>The papers' tables and figures, measured here</h1>",
        "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts.items()) + "</dl>",
        _summary(items, results),
    ]
    if missing:
        rows = [[name, "nothing: left out" if used == "nothing" else used] for name, used in sorted(missing.items())]
        parts.append(_rows("Data sets and programs that were not found", ["of the papers", "used instead"], rows))
    for paper, title in PAPERS.items():
        own = [item for item in items if item.paper == paper]
        if own:
            parts.append(f"<h2>{escape(title)}</h2>")
            parts += [_section(item, results.get(item.name)) for item in own]
    return "".join([*parts, "</body></html>\n"])


def _summary(items: list[Item], results: dict[str, dict[str, Any]]) -> str:
    rows = []
    for item in items:
        result = results.get(item.name)
        mark = _mark(result["verdict"] if result else "not run")
        where = PAPERS[item.paper].split(":")[0]
        rows.append(
            f"<tr><td>{escape(where)}. <a href='#{item.name}'>{escape(item.title)}</a></td><td>{mark}</td></tr>"
        )
    head = "<tr><th>table or figure</th><th>verdict</th></tr>"
    rule = (
        "<p class='soft'>Confirmed: every statement holds on the paper's own data, in full. In ratio: every statement "
        "holds, on a part of the data or on stand-ins. Incomplete: a program of the claim is not installed. All times "
        "are of one thread in one run; the time of evaluations is not counted. A primal value is the best one so "
        "far.</p>"
    )
    return f"<h2>Verdicts</h2>{rule}<div class='wide'><table>{head}{''.join(rows)}</table></div>"


def _section(item: Item, result: dict[str, Any] | None) -> str:
    verdict = result["verdict"] if result else "not run"
    parts = [
        f"<section class='item' id='{item.name}'><h3>{escape(item.title)} {_mark(verdict)}</h3>",
        f"<p><b>The paper's claim.</b> {escape(item.claim)}</p>",
    ]
    if result is None:
        return "".join([*parts, "<p>It was not asked for in this run.</p></section>"])
    parts.append(f"<p><b>{verdict.capitalize()}.</b> {escape(result['reason'])}</p>")
    panels = [Panel(**{**panel, "lines": [Line(**line) for line in panel["lines"]]}) for panel in result["panels"]]
    if panels:
        parts.append(f"<div class='panels'>{''.join(svg(panel) for panel in panels)}</div>")
    parts += [_rows(table["title"], table["head"], table["rows"]) for table in result["tables"]]
    if result["cells"]:
        rows = [["yes" if cell["holds"] else "no", cell["name"], cell["numbers"]] for cell in result["cells"]]
        cells = _rows("", ["holds", "statement", "measured"], rows)
        parts.append(f"<details><summary>{len(rows)} statements</summary>{cells}</details>")
    seconds = f" Its runs took {result['seconds']:.0f} s." if "seconds" in result else ""
    return "".join([*parts, f"<p class='soft'>{escape(result['settings'] + seconds)}</p></section>"])


def _mark(verdict: str) -> str:
    return f"<span class='verdict v{VERDICTS.index(verdict)}'>{verdict}</span>"


def _rows(title: str, head: list[str], rows: list[list[str]]) -> str:
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head) if any(head) else ""
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<div class='wide'><table>{caption}<tr>{top}</tr>{body}</table></div>"
