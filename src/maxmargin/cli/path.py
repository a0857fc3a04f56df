"""``maxmargin path``: the models along increasing C."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.jobs import flat, make_job, prepare, values_option
from maxmargin.cli.loading import load
from maxmargin.cli.options import Positive, data_argument, reading, talking
from maxmargin.cli.pictures import draw, plot_option
from maxmargin.cli.training import losses, note_qid, task_option, training

if TYPE_CHECKING:
    from maxmargin.cli.jobs import Job
    from maxmargin.training.svm_path import Path

#: Panels of classes in a picture.
MOST_PANELS = 8


@click.command(short_help="Follow the model along values of C.")
@data_argument
@task_option
@values_option("from where the model is known in closed form to where it no longer changes")
@losses
@training
@click.option("--time-limit", type=Positive(), metavar="SECONDS", help="End the path after this time.")
@reading
@plot_option("the weights and the number of support vectors against C")
@talking
@click.pass_context
def path(context: click.Context, /, data: str, Cs: tuple[tuple[float, ...], ...], **given: Any) -> int:
    """Train on DATA along increasing C, each model seeded by the one before and certified by itself.

    \b
    maxmargin path train.svm --plot path.svg
    maxmargin path train.svm -C 0.01,0.1,1,10 --loss hinge --json
    maxmargin path queries.svm --task rank
    maxmargin path houses.csv --task regression --label price
    """
    from maxmargin.cli.output import Bar, Output
    from maxmargin.training.svm_path import svm_path

    ranking = given["task"] == "rank"
    prepare(context, given)
    values = flat(Cs)
    output = Output(given["quiet"], given["as_json"])
    loaded = load(data, given, output, with_qid=ranking)
    note_qid(context, data, loaded, given, output)
    job = make_job(loaded, data, given, output)
    start = time.perf_counter()
    shares: list[float] = []
    with Bar(output, "path") as bar:

        def on_model(solved: Any) -> None:
            import numpy as np

            shares.append(job.task.score(job.task.scores(solved), np.arange(loaded.X.shape[0])))
            share = len(shares) / len(values) if values else None
            bar.show(share, f"C {solved.C:g}, gap {solved.gap:.1e}, {job.text(shares[-1])} {job.score_name}")

        # The first C of an automatic path comes from products that only scipy's matrices have.
        found = svm_path(
            loaded.X.to_scipy() if hasattr(loaded.X, "to_scipy") else loaded.X,
            job.targets,
            Cs=values or "auto",
            time_limit=given["time_limit"],
            n_jobs=given["jobs"],
            callback=on_model,
            **job.path_options(),
        )
    fields = _fields(found, shares, job, time.perf_counter() - start)
    _draw(given["plot"], found, loaded.feature_names, bool(loaded.source.get("zero_based", True)))
    output.results(fields, _lines(fields, job))
    if not fields["converged"]:
        output.say("The tolerance was not reached for every C; raise --max-iter or --time-limit, or scale the columns.")
    return 0 if fields["converged"] else 1


def _fields(found: Path, shares: list[float], job: Job, seconds: float) -> dict[str, Any]:
    import numpy as np

    name = job.score_name.replace(" ", "_")
    shares = [*shares, *[float("nan")] * (len(found.Cs) - len(shares))]  # the last C of a path that time has ended
    return {
        "results": [
            {
                "C": float(C),
                "objective": float(found.primal[k].sum()),
                "gap": float(found.gaps[k].max()),
                "norm": float(np.linalg.norm(found.coefs[k])),
                "support_vectors": int(found.n_support[k]),
                name: shares[k],
                "epochs": int(found.n_iter[k]),
                "solver": found.solvers[k],
                "seconds": float(found.seconds[k]),
            }
            for k, C in enumerate(found.Cs)
        ],
        "ended": found.ended,
        "converged": bool(found.converged.all()),
        "seconds": seconds,
    }


def _lines(fields: dict[str, Any], job: Job) -> list[str]:
    from maxmargin.cli.output import table

    name = job.score_name.replace(" ", "_")
    rows = [
        [
            f"{result['C']:.4g}",
            f"{result['objective']:.7g}",
            f"{max(result['gap'], 0.0):.1e}",
            f"{result['norm']:.4g}",
            f"{result['support_vectors']:,}",
            job.text(result[name]),
            f"{result['seconds']:.3g}",
        ]
        for result in fields["results"]
    ]
    why = {
        "grid": "the last C that was asked for",
        "settled": "the model no longer changes",
        "limit": "as many values of C as allowed",
        "time_limit": "--time-limit",
        "callback": "stopped",
    }
    heads = ["C", "objective", "gap", "norm", "support vectors", f"training {job.score_name}", "seconds"]
    end = f"{len(rows)} models, {fields['seconds']:.3g} s; the path ends here: {why[fields['ended']]}"
    return [*table(heads, rows), "", end]


def _draw(picture: str | None, found: Path, names: list[str] | None, zero_based: bool) -> None:
    panels = min(found.coefs.shape[1], MOST_PANELS)
    columns = 2 if panels in (1, 3) else 3

    def plot(axes: list[Any]) -> None:
        from maxmargin.plots.paths import PathDisplay

        features = names
        if features is None and not zero_based:
            features = [str(j + 1) for j in range(found.coefs.shape[2])]
        classes = found.classes[:panels].tolist() if panels > 1 else None
        coefs = found.coefs[:, :panels]
        display = PathDisplay(found.Cs, coefs, found.n_support, feature_names=features, classes=classes)
        display.plot(ax=axes[:panels])
        display.plot(kind="support", ax=axes[panels])
        for unused in axes[panels + 1 :]:
            unused.set_axis_off()

    draw(picture, plot, columns, -(-(panels + 1) // columns), size=(5.0, 4.0))
