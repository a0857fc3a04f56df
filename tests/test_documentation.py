"""The documentation is true: its code runs, its links and files exist, its lines and tables have a readable form.

The blocks of one page run in order, in an empty folder with a copy of ``examples/``. Python blocks share their names;
lines of shell blocks that begin with ``maxmargin`` run the command in this process and must succeed, unless they say
"exit code 1". Other commands are only allowed if they are known, and are not run.
"""

from __future__ import annotations

import doctest
import re
import runpy
import shlex
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest

import maxmargin
from maxmargin.cli.app import run

ROOT = Path(__file__).parent.parent
#: What building the site adds is none of ours.
DOCS = sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name not in ("results", "gallery"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *DOCS]
PYTHON, SHELL, OTHER = ("python", "pycon"), ("sh", "bash", "console"), ("text",)
#: Commands that are shown but not run.
SHOWN = ("pip", "git", "source")
#: Where a file may lie that a page names.
HOMES = (ROOT, ROOT / "src" / "core", ROOT / "src" / "maxmargin")
WRAP, WIDEST = 120, 200


class Block(NamedTuple):
    language: str
    line: int
    text: str


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page, with the line at which their text begins."""
    blocks: list[Block] = []
    language, begin = None, 0
    lines = page.read_text().splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.lstrip().startswith("```"):
            continue
        if language is None:
            language, begin = line.strip().removeprefix("```"), number
        else:
            blocks.append(Block(language, begin + 1, "\n".join(lines[begin : number - 1]) + "\n"))
            language = None
    assert language is None, f"{name_of(page)}: the block at line {begin} has no end"
    return blocks


def prose_of(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)


def run_python(block: Block, page: Path, names: dict[str, object]) -> None:
    where = f"{name_of(page)}:{block.line}"
    if ">>>" not in block.text:
        # Empty lines in front let a traceback show the line of the page.
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)
        return
    test = doctest.DocTestParser().get_doctest(block.text, names, where, str(page), block.line - 1)
    failures: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=failures.append, clear_globs=False)
    names.update(test.globs)
    assert not failures, "".join(failures)


def run_shell(block: Block, page: Path) -> None:
    text = block.text.replace("\\\n", " ")
    for line in text.splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if not words:
            continue
        where = f"{name_of(page)}:{block.line}: {line}"
        if words[0] == "maxmargin":
            assert not {"|", ">", "<", "&&", ";"} & set(words), f"{where}: only plain lines can be run"
            assert run(words[1:]) == (1 if "exit code 1" in line else 0), where
        elif words[0] == "make":
            targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
            assert set(words[1:]) <= set(targets), where
        elif words[:2] == ["python", "-m"]:
            assert words[2].startswith("benchmarks."), where
            assert (ROOT / words[2].replace(".", "/")).with_suffix(".py").is_file(), where
        else:
            assert words[0] in SHOWN, f"{where}: nobody knows what this does"


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_runs(page, empty_folder):
    names: dict[str, object] = {"__name__": "documentation"}
    for block in blocks_of(page):
        if block.language in PYTHON:
            run_python(block, page, names)
        elif block.language in SHELL:
            run_shell(block, page)
        else:
            assert block.language in OTHER, f"{name_of(page)}:{block.line}: a block of {block.language!r}"


def test_the_example_data_are_small():
    for data in ("flowers.svm", "flowers.csv"):
        assert (ROOT / "examples" / data).stat().st_size < 10_000


def test_the_readme_fits_on_a_page():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 100


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_lines_are_wrapped(page):
    fenced = False
    for number, line in enumerate(page.read_text().splitlines(), start=1):
        fenced ^= line.startswith("```")
        free = fenced or line.startswith(("|", "    "))
        assert len(line) <= (WIDEST if free else WRAP), f"{name_of(page)}:{number} has {len(line)} characters"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_rows_of_a_table_have_as_many_cells_as_its_head(page):
    previous = None
    for number, line in enumerate(prose_of(page).splitlines(), start=1):
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
        assert None in (cells, previous) or cells == previous, f"{name_of(page)}:{number}: {line}"
        previous = cells


def anchors_of(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", prose_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_leads_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{name_of(page)}: {link}"
        assert not anchor or anchor in anchors_of(target), f"{name_of(page)}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_source_file_that_is_named_exists(page):
    for file in re.findall(r"`([\w/]+/[\w]+\.(?:py|hpp|cpp))`", prose_of(page)):
        assert any((home / file).is_file() for home in HOMES), f"{name_of(page)}: {file}"


def test_every_public_name_is_documented():
    words = set(re.findall(r"\w+", "".join(page.read_text() for page in DOCS)))
    assert set(maxmargin.__all__) <= words
    reference = set(re.findall(r"`(\w+)`", (ROOT / "docs" / "reference.md").read_text()))
    assert set(maxmargin.__all__) <= reference


def test_every_page_can_be_reached_from_the_readme():
    seen, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        links = re.findall(r"\]\(([^)\s#]+\.md)", prose_of(page))
        waiting += [
            target for link in links if (target := (page.parent / link).resolve()) in DOCS and target not in seen
        ]
    assert set(DOCS) <= seen


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples" / "gallery").glob("plot_*.py")), ids=lambda path: path.stem
)
def test_every_tutorial_runs(script, tmp_path, monkeypatch):
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)
    try:
        runpy.run_path(str(script))
        assert plt.get_fignums() or "plot" not in script.read_text().split('"""')[2]
    finally:
        plt.close("all")


@pytest.mark.parametrize("folder", ["howto", "mathematics"])
def test_the_first_page_of_a_folder_links_to_all_others(folder):
    first = ROOT / "docs" / folder / "index.md"
    links = re.findall(r"\]\((\w+)\.md[)#]", first.read_text())
    assert {page.stem for page in first.parent.glob("*.md")} - {"index"} <= set(links)
