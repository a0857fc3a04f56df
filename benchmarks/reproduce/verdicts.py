"""The verdicts of a run as a page of the documentation: ``python -m benchmarks.reproduce --quick --markdown FILE``."""

from __future__ import annotations

import textwrap
from typing import Any

from benchmarks.reproduce.items import VERDICTS, Item
from benchmarks.reproduce.page import PAPERS

WIDTH = 120


def markdown(
    items: list[Item], results: dict[str, dict[str, Any]], facts: dict[str, str], missing: dict[str, str]
) -> str:
    """A summary, and for each item the claim, the verdict and its reason."""
    count = {verdict: sum(result["verdict"] == verdict for result in results.values()) for verdict in VERDICTS}
    told = ", ".join(f"{number} {verdict}" for verdict, number in count.items() if number)
    parts = [
        "# The verdicts of one run",
        wrapped(
            f"Mode: {facts['mode']}. {facts['machine']} Commit {facts['commit']}, {facts['day']}. Of {len(results)} "
            f"tables and figures: {told}. What the words mean, and how to repeat it, is on [the page of the "
            "reproduction](reproduction.md). The report that the command writes shows every curve, table and statement."
        ),
    ]
    if missing:
        absent = ", ".join(
            f"{name} (left out)" if used == "nothing" else f"{name} ({used} instead)" for name, used in missing.items()
        )
        parts.append(wrapped(f"Data sets and programs that were not found: {absent}."))
    for paper, title in PAPERS.items():
        own = [item for item in items if item.paper == paper and item.name in results]
        if own:
            parts.append(f"## {title}")
        for item in own:
            result = results[item.name]
            parts += [
                f"### {item.title}",
                wrapped(f"Claim: {item.claim}"),
                wrapped(f"**{result['verdict'].capitalize()}.** {result['reason']}"),
            ]
    return "\n\n".join(parts) + "\n"


def wrapped(text: str) -> str:
    """Lines of readable length; characters that mean something in Markdown are themselves."""
    for mark in ("<", ">", "*"):
        if mark != "*" or not text.startswith("**"):
            text = text.replace(mark, f"\\{mark}")
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
