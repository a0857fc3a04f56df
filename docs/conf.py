"""The site: ``make docs``. Pages are the Markdown files beside this one, and those of ``site/`` that order them."""

from __future__ import annotations

import os
import re
import shutil
import warnings
from pathlib import Path

from maxmargin import __version__

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
project = "maxmargin"
author = "the maxmargin developers"
copyright = author
version = release = __version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
exclude_patterns = ["_build"]
templates_path = ["_templates"]
nitpicky = False

myst_heading_anchors = 4
myst_links_external_new_tab = False
# A page may link to files that are no part of the site, such as tables of results: they are offered for download.
suppress_warnings = ["config.cache"]

autosummary_generate = True
autodoc_member_order = "groupwise"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "copyfile_regex": r".*\.rst",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "plot_gallery": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "matplotlib_animations": False,
}
warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

html_theme = "pydata_sphinx_theme"
html_title = "maxmargin"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "maxmargin"},
    "header_links_before_dropdown": 7,
    "navbar_align": "left",
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
    "pygments_dark_style": "github-dark",
}

# The tables of results lie outside of this folder: a copy of them is a part of the site.
shutil.copytree(ROOT / "benchmarks" / "results", HERE / "results", dirs_exist_ok=True)
# Pages of tutorials that have another name now would belong to no list.
for page in (HERE / "gallery").glob("plot_*.rst"):
    if not (ROOT / "examples" / "gallery" / f"{page.stem}.py").exists():
        page.unlink()


def api_page() -> str:
    """The names of the reference, table by table, for autosummary, which reads the file before anything else does."""
    lines = [
        "Every public name",
        "=================",
        "",
        "From the docstrings. :doc:`The one-page list <../reference>` says where each is explained.",
        "",
        ".. currentmodule:: maxmargin",
    ]
    for line in (HERE / "reference.md").read_text().splitlines():
        first = line.split("|")[1].strip() if line.startswith("|") else ""
        if line.endswith("| what | more |"):
            lines += ["", first.capitalize(), "-" * len(first), "", ".. autosummary::", "   :toctree: generated", ""]
        else:
            lines += [f"   {name}" for name in re.findall(r"`(\w+)`", first)]
    return "\n".join(lines) + "\n"


(HERE / "site" / "api.rst").write_text(api_page())


def link_results(_app: object, page: str, source: list[str]) -> None:
    """Let pages find the copies of results and tutorials, and put every page into a list.

    What the first pages of a folder link to are its pages; those that no list names go to the end of the guides.
    """
    source[0] = source[0].replace("](../benchmarks/results/", "](results/")
    # A tutorial is a script in the repository and a page of the site.
    source[0] = re.sub(r"\]\((?:\.\./)+examples/gallery/(\w+)\.py\)", r"](/gallery/\1.rst)", source[0])
    if page in ("howto/index", "mathematics/index"):
        names = dict.fromkeys(re.findall(r"\]\((\w+)\.md[)#]", source[0]))
        source[0] += "\n".join(["", "```{toctree}", ":hidden:", "", *names, "```", ""])
    if page == "site/guides":
        named = set(
            re.findall(r"^   \.\./(\w+)$", "".join(f.read_text() for f in HERE.glob("site/*.rst")), re.MULTILINE)
        )
        source[0] += "".join(f"   ../{f.stem}\n" for f in sorted(HERE.glob("*.md")) if f.stem not in named)


def unlink_others(_app: object, _what: str, _name: str, _thing: object, _options: object, lines: list[str]) -> None:
    """References of docstrings that are inherited from scikit-learn lead to its own site."""
    lines[:] = [re.sub(r":(?:ref|term):`([^`<]*?)\s*(?:<[^`]*>)?`", r"\1", line) for line in lines]


def setup(app: object) -> None:
    """Connect the functions above."""
    app.connect("source-read", link_results)  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", unlink_others)  # type: ignore[attr-defined]
