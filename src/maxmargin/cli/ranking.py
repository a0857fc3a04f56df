"""What ``--task rank`` does in ``train``, ``predict`` and ``info``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from maxmargin.cli.options import RANKING_SOLVERS

if TYPE_CHECKING:
    from maxmargin.cli.output import Output
    from maxmargin.io.data import Data
    from maxmargin.models.model import Model

#: Options of ``train`` that mean nothing for a ranking.
_CLASSIFY_ONLY = (
    "penalty",
    "loss",
    "epsilon",
    "nu",
    "multi_class",
    "no_intercept",
    "no_penalize_intercept",
    "intercept_scaling",
    "class_weight",
    "no_shrinking",
    "no_pack",
    "seed",
    "liblinear",
)
ONE_GROUP = "there are no query numbers (qid), so all rows are ranked as one group"


def refuse_classification(context: click.Context, given: dict[str, Any]) -> None:
    """Options of a classifier that were given for a ranking are an error."""
    for name in _CLASSIFY_ONLY:
        if name in given and context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} does not apply to --task rank", context)
    if given["solver"] not in RANKING_SOLVERS:
        raise click.UsageError(
            f"--task rank is solved by {' or '.join(RANKING_SOLVERS)}, not by {given['solver']}", context
        )


def check_ranks(data: Data, name: str, output: Output) -> None:
    """Refuse data that cannot be ranked, and say so where there are no groups."""
    import numpy as np

    assert data.y is not None  # read_data refuses files without labels
    if data.X.shape[0] == 0:
        raise ValueError(f"{name}: there are no rows")
    if np.asarray(data.y).dtype.kind not in "iufb":
        raise ValueError(f"{name}: labels to rank by must be numbers, of which larger ones mean higher ranks")
    if any(column.lower() == "qid" for column in data.feature_names or []):
        raise ValueError(
            f"{name}: the column 'qid' of a table would become a feature; queries are read from svmlight and .npz "
            "files: convert the table to one of these, or rename the column"
        )
    if data.qid is None:
        output.note(ONE_GROUP)


def train_ranker(data: Data, name: str, given: dict[str, Any], output: Output) -> Model:
    """The model that orders the rows of each group by their labels."""
    from maxmargin.cli.output import Bar, TrainingBar
    from maxmargin.models.model import Model
    from maxmargin.problems.ranking import RankingProblem
    from maxmargin.training.checkpoint import solve_one

    check_ranks(data, name, output)
    assert data.y is not None
    try:
        problem = RankingProblem(data.X, data.y, given["C"], qid=data.qid)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    with Bar(output, "training") as bar:
        [listener] = TrainingBar(bar, 1, given["tol"]).listeners
        solution = solve_one(
            problem,
            given["solver"],
            checkpoint=given["checkpoint"],
            checkpoint_interval=given["checkpoint_interval"],
            tol=given["tol"],
            max_iter=given["max_iter"],
            time_limit=given["time_limit"],
            n_jobs=given["jobs"],
            callback=listener.report,
        )
    parameters = ranker_parameters(given)
    return Model.of_ranking(problem, solution, parameters, feature_names=data.feature_names, source=data.source)


def ranker_parameters(given: dict[str, Any]) -> dict[str, Any]:
    """The same training as parameters of LinearRankSVM, for the model file."""
    return {
        "C": given["C"],
        "tol": given["tol"],
        "max_iter": given["max_iter"],
        "solver": given["solver"],
        "warm_start": False,
        "n_jobs": given["jobs"],
        "time_limit": given.get("time_limit"),
        "verbose": 0,
    }


def pair_fields(model: Model) -> dict[str, Any]:
    """What a ranker makes of the pairs of its training data."""
    assert model.training is not None
    pairs = model.training.pairs
    assert pairs is not None
    return {
        "groups": pairs.groups,
        "pairs": pairs.all,
        "swapped_pairs": pairs.swapped,
        "tied_pairs": pairs.tied,
        "in_order": 1.0 - (pairs.swapped + 0.5 * pairs.tied) / pairs.all,
    }


def pair_lines(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """The same as text."""
    return [
        ("groups with pairs", f"{fields['groups']:,}"),
        ("pairs", f"{fields['pairs']:,.0f}"),
        ("swapped pairs", _share(fields["swapped_pairs"], fields["pairs"])),
        ("tied pairs", _share(fields["tied_pairs"], fields["pairs"])),
        ("in order", f"{100 * fields['in_order']:.4f} %"),
    ]


def _share(part: float, whole: float) -> str:
    return f"{part:,.0f} ({100 * part / whole:.4f} %)"


class RankTally:
    """How well scores order the rows of each group; keeps a score, a label and a group per row."""

    def __init__(self) -> None:
        self.blocks: list[tuple[Any, Any, Any]] = []
        self.rows = 0

    def add(self, y: Any, scores: Any, qid: Any) -> None:
        """The true labels, the scores and the groups (or None) of some rows."""
        if y.dtype.kind in "iufb":
            self.blocks.append((y, scores.ravel(), qid))
            self.rows += len(y)

    def fields(self, output: Output) -> dict[str, Any]:
        """What there is to say, for JSON."""
        import numpy as np

        from maxmargin.problems.ranking import NothingToRankError, count_pairs, ndcg

        if self.rows == 0:
            return {}
        y, scores = (np.concatenate([block[k] for block in self.blocks]) for k in (0, 1))
        with_qid = [block[2] for block in self.blocks if block[2] is not None]
        if with_qid and len(with_qid) < len(self.blocks):
            raise ValueError("some rows have a qid: and others have none")
        qid = np.concatenate(with_qid) if with_qid else None
        if qid is None:
            output.note(ONE_GROUP)
        try:
            counts = count_pairs(y, scores, qid)
        except NothingToRankError:
            output.note("no two rows of one group have different labels, so there is no order to compare with")
            return {}
        fields: dict[str, Any] = {
            "groups": len(counts.groups),
            "pairs": float(counts.all.sum()),
            "swapped_pairs": float(counts.swapped.sum()),
            "tied_pairs": float(counts.tied.sum()),
            "in_order": counts.share_in_order,
            "mean_in_order": float(counts.shares_in_order.mean()),
        }
        if np.all((y >= 0) & (y <= 30)) and np.any(y > 0):
            fields["ndcg_at_10"] = ndcg(y, scores, qid, k=10)
        return fields

    def lines(self, rows: int, out: str | None, fields: dict[str, Any]) -> list[str]:
        """The same as text."""
        from maxmargin.cli.output import pairs

        where = f"{rows:,} rows scored" + (f", written to {out}" if out not in (None, "-") else "")
        if "pairs" not in fields:
            return [where]
        shown = pair_lines(fields)
        if fields["groups"] > 1:
            shown.append(("mean over groups", f"{100 * fields['mean_in_order']:.4f} %"))
        if "ndcg_at_10" in fields:
            shown.append(("NDCG at 10", f"{fields['ndcg_at_10']:.4f}"))
        return [where, "", *pairs(shown)]
