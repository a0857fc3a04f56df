"""The layers of the package: one calls only those below it, and imports its modules where they live."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "src" / "maxmargin"
#: From the bottom up; those of one tuple are on one level and may call each other.
LAYERS = [("problems",), ("solvers",), ("models", "io"), ("training", "plots"), ("estimators",), ("dask",), ("cli",)]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(path):
    """The modules of the package that a file imports, anywhere in it, but for those for type checkers."""
    tree = ast.parse(path.read_text())
    for_types = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and getattr(block.test, "id", "") == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("maxmargin"):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("maxmargin"))


#: What `maxmargin` itself may be asked for inside of it; all other names are imported from where they live.
OF_THE_PACKAGE = {"_core", "__version__"}


def detours(path):
    """The imports of a file that hide which layer they reach: relative ones, and names through the public facade."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            yield f"from {'.' * node.level}{node.module or ''}"
        elif isinstance(node, ast.ImportFrom) and node.module == "maxmargin":
            yield from (
                f"from maxmargin import {alias.name}" for alias in node.names if alias.name not in OF_THE_PACKAGE
            )
        elif isinstance(node, ast.Import):
            yield from ("import maxmargin" for alias in node.names if alias.name == "maxmargin")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_import_names_from_where_they_live(path):
    assert list(detours(path)) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("from ..estimators import base", ["from ..estimators"]),
        ("from . import threads", ["from ."]),
        ("def late():\n    from maxmargin import LinearSVC, _core", ["from maxmargin import LinearSVC"]),
        ("import maxmargin as mm", ["import maxmargin"]),
        ("from maxmargin import _core, __version__\nfrom maxmargin.solvers.solve import solve", []),
    ],
)
def test_a_detour_would_be_found(line, found, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(line)
    assert list(detours(path)) == found


def layer_of(name):
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LEVEL else None


@pytest.mark.parametrize("path", [path for path in MODULES if path.parent != PACKAGE], ids=lambda path: str(path.name))
def test_a_layer_calls_only_those_below_it(path):
    own = path.relative_to(PACKAGE).parts[0]
    for name in imports(path):
        layer = layer_of(name)
        assert layer is None or LEVEL[layer] <= LEVEL[own], f"{path.name} of {own} imports {name}"


def test_every_folder_is_a_layer():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(LEVEL)


def test_only_estimators_know_scikit_learn():
    # and `maxmargin bench`, which compares with it when asked to
    knowing = {
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if any(line.strip().startswith(("import sklearn", "from sklearn")) for line in path.read_text().splitlines())
    }
    assert {name.split("/")[0] for name in knowing - {"cli/bench.py"}} == {"estimators", "dask"}


CORE = PACKAGE.parent / "core"
#: What each folder of the core may include, besides itself.
CORE_LAYERS = {
    "numeric": set(),
    "run": {"numeric"},
    "rows": {"numeric", "run"},
    "binary": {"numeric", "rows", "run"},
    "multiclass": {"numeric", "rows", "run", "binary"},
    "cutting_plane": {"numeric", "rows", "run", "binary", "multiclass"},
    "one_class": {"numeric", "rows", "run"},
    "text": {"numeric"},
    "bindings": {"numeric", "rows", "run", "binary", "multiclass", "cutting_plane", "one_class", "text"},
}


@pytest.mark.parametrize("folder", CORE_LAYERS)
def test_a_folder_of_the_core_includes_only_those_below_it(folder):
    for path in (CORE / folder).iterdir():
        included = [line.split('"')[1] for line in path.read_text().splitlines() if line.startswith('#include "')]
        for name in included:
            assert name.split("/")[0] in {folder, *CORE_LAYERS[folder]}, f"{path.name} includes {name}"
        if folder != "bindings":
            assert "nanobind" not in path.read_text(), f"{path.name} knows Python"


def included_by(path, seen):
    for line in path.read_text().splitlines():
        if line.startswith('#include "'):
            name = line.split('"')[1]
            if name not in seen:
                seen.add(name)
                included_by(CORE / name, seen)
    return seen


def test_a_change_of_the_ranking_oracle_rebuilds_nothing_of_binary():
    for path in (CORE / "binary").glob("*.cpp"):
        assert "cutting_plane/ranked_pairs.hpp" not in included_by(path, set())
