"""Every table and figure of the five papers: one short script each, named after it, over shared machinery.

``python -m benchmarks.reproduce --out DIR [--quick] [NAME ...]`` runs them and writes ``DIR/report.html`` or
``report-quick.html``; so do ``make reproduce`` and ``maxmargin bench --out DIR``. `items` holds what an item and its
result are, `curves` records methods over time, `data` finds the data sets, `limits` says how long runs may take,
`drawing` makes SVG figures, `page` the report, and `runner` ties them together.
"""
