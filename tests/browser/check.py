"""Open pages in a headless Chromium, at desktop and phone width, and check that every figure has drawn its data.

    python tests/browser/check.py PAGE.html [PAGE.html ...] [--pictures DIR]

A page is put into frames of both widths, and a script counts what the browser has laid out: curves of no length,
curves without points, figures of no size, and a page that is wider than its frame are errors. (A curve of one point is
a dot.) ``make browser`` runs it; it needs chromium.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WIDTHS = {"desktop": 1280, "phone": 390}
SCRIPT = """
<script>
window.addEventListener("load", () => setTimeout(() => {
  const page = document.getElementById("page").contentDocument;
  const figures = [...page.querySelectorAll(".panels svg")];
  const curves = [...page.querySelectorAll("polyline.curve")];
  const told = {
    figures: figures.length,
    flat: figures.filter(svg => svg.getBoundingClientRect().width < 50).length,
    empty: figures.filter(svg => !svg.querySelector("polyline.curve")).length,
    curves: curves.length,
    undrawn: curves.filter(line => line.points.length !== 1 && !(line.getTotalLength() > 0)).length,
    broken: [...page.querySelectorAll("img")].filter(image => !image.naturalWidth).length,
    wider: page.documentElement.scrollWidth - document.getElementById("page").clientWidth,
    title: page.title,
  };
  document.getElementById("told").textContent = JSON.stringify(told);
}, 300));
</script>
"""


def framed(page: Path, width: int, height: int, scripts: bool = True) -> str:
    """A document that shows the page in a frame of some width."""
    text = page.read_text()
    # Relative links of a page inside srcdoc start from the outer document.
    base = f"<base href='{page.resolve().parent.as_uri()}/'>"
    text = re.sub(r"<head[^>]*>", lambda found: found.group(0) + base, text, count=1)
    frame = (
        f'<iframe id="page" style="border:0;width:{width}px;height:{height}px" srcdoc="{html.escape(text)}"></iframe>'
    )
    return (
        f"<!doctype html><body style='margin:0'><pre id='told' hidden></pre>{frame}{SCRIPT if scripts else ''}</body>"
    )


def program() -> str | None:
    """Where the browser is, if it is installed."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


def chromium(page: Path, *words: str) -> str:
    """What the browser prints."""
    browser = program()
    if browser is None:
        sys.exit("chromium is not installed")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files"]
    budget = "--virtual-time-budget=8000"
    with tempfile.TemporaryDirectory() as profile:
        words = (*options, budget, f"--user-data-dir={profile}", *words, page.as_uri())
        return subprocess.run([browser, *words], capture_output=True, text=True, timeout=120, check=True).stdout


def look(page: Path, width: int, picture: Path | None) -> dict[str, int]:
    """What was laid out at a width; a picture of it if wanted."""
    with tempfile.TemporaryDirectory(dir=page.parent) as folder:
        outer = Path(folder) / "frame.html"
        outer.write_text(framed(page, width, 900))
        dumped = chromium(outer.resolve(), "--dump-dom", f"--window-size={width},900")
        if picture is not None:
            tall = 2600
            outer.write_text(framed(page, width, tall))
            chromium(outer.resolve(), f"--screenshot={picture.resolve()}", f"--window-size={width},{tall}")
    found = re.search(r'<pre id="told"[^>]*>(.*?)</pre>', dumped, flags=re.DOTALL)
    if not found or not found.group(1):
        raise RuntimeError(f"{page}: the browser told nothing")
    return json.loads(html.unescape(found.group(1)))


def wrong(told: dict[str, int], figures: bool) -> list[str]:
    """What is wrong with a page, which must have figures if so asked."""
    found = [key for key in ("flat", "empty", "undrawn", "broken") if told[key]]
    found += ["wider"] if told["wider"] > 1 else []
    return found + (["no figures"] if figures and not told["curves"] else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--figures", action="store_true", help="each page must have figures")
    options = parser.parse_args()
    bad = 0
    for page in options.pages:
        for name, width in WIDTHS.items():
            picture = None
            if options.pictures:
                options.pictures.mkdir(parents=True, exist_ok=True)
                picture = options.pictures / f"{page.resolve().parent.name}-{page.stem}-{name}.png"
            told = look(page, width, picture)
            found = wrong(told, options.figures)
            bad += bool(found)
            print(f"{page.name:<28}{name:<9}{'BAD: ' + ', '.join(found) if found else 'good':<20}{json.dumps(told)}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
