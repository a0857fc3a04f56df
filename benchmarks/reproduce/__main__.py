"""``python -m benchmarks.reproduce [NAME ...] --out DIR [--quick]``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.reproduce.items import all_items
from benchmarks.reproduce.runner import facts, reproduce
from benchmarks.reproduce.verdicts import markdown


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="table or figure, or the beginning of its name")
    parser.add_argument("--out", type=Path, default=Path("build/reproduce"), help="folder for results and the report")
    parser.add_argument("--quick", action="store_true", help="parts of the data: minutes instead of hours")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument("--markdown", type=Path, help="write the verdicts as a page of the documentation, too")
    options = parser.parse_args()
    if options.list:
        for item in all_items().values():
            print(f"{item.name:<26}{item.title}")
        return

    def show(share: float, text: str) -> None:
        print(f"{100 * share:3.0f} %  {text}", file=sys.stderr, flush=True)

    try:
        path, results = reproduce(options.names, options.out, options.quick, show)
    except ValueError as error:
        sys.exit(f"reproduce: {error}")
    for name, result in results.items():
        print(f"{name:<26}{result['verdict']:<20}{result['reason']}")
    print(f"report: {path}")
    if options.markdown:
        missing = {name: used for result in results.values() for name, used in result["missing"].items()}
        text = markdown(list(all_items().values()), results, facts(options.quick), missing)
        options.markdown.write_text(text)
    sys.exit(1 if any(result.get("failed") for result in results.values()) else 0)


if __name__ == "__main__":
    main()
