"""What ``train`` does for one problem with one variable per row: regression and one class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maxmargin.cli.output import Output
    from maxmargin.solvers.method import Method
    from maxmargin.solvers.solution import Solution


def solve_with_bar(problem: Any, method: Method, given: dict[str, Any], output: Output) -> Solution:
    """The solution within the limits that were given, with a bar on the way."""
    from maxmargin.cli.output import Bar, TrainingBar
    from maxmargin.training.checkpoint import solve_one

    with Bar(output, "training") as bar:
        [listener] = TrainingBar(bar, 1, given["tol"]).listeners
        return solve_one(
            problem,
            method,
            checkpoint=given["checkpoint"],
            checkpoint_interval=given["checkpoint_interval"],
            tol=given["tol"],
            max_iter=given["max_iter"],
            time_limit=given["time_limit"],
            seed=given["seed"],
            callback=listener.report,
            pack=not given["no_pack"],
            n_jobs=given["jobs"],
        )


def run_parameters(given: dict[str, Any]) -> dict[str, Any]:
    """How it was solved, as the estimators' parameters have it."""
    return {
        "solver": given["solver"],
        "tol": given["tol"],
        "max_iter": given["max_iter"],
        "shrinking": not given["no_shrinking"],
        "warm_start": False,
        "n_jobs": given["jobs"],
        "pack": not given["no_pack"],
        "time_limit": given.get("time_limit"),
        "random_state": given["seed"],
        "verbose": 0,
    }
