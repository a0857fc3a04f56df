"""Cutting planes: how their cost grows, what acceleration gains, and ranking against dlib, in one run.

python -m benchmarks.cutting_planes [oracle growth covtype dlib acceleration solvers] [--markdown FILE]

Without names all parts run. dlib (``pip install dlib``, which compiles it) is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets import load_binary, load_queries
from benchmarks.report import Table, describe_machine
from maxmargin import BinaryProblem, CuttingPlane, RankingProblem, Solution, solve

TOL = 1e-3


def fastest(work: Callable[[], Any], repeats: int = 5, enough: float = 2.0) -> tuple[Any, float]:
    """The result, and the shortest of some times."""
    times: list[float] = []
    result = None
    while len(times) < repeats and (not times or sum(times) < enough):
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
    return result, min(times)


def slope(sizes: list[int], seconds: list[float]) -> float:
    """The exponent of growth: the slope of a straight line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def geometric_mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def synthetic(kind: str, rows: int) -> tuple[sp.csr_matrix, np.ndarray]:
    """Rows like those of text (73 of 50,000 features) or of covtype (12 of 54), with noisy labels of two ranks."""
    rng = np.random.default_rng(0)
    features, per_row = {"text-like": (50_000, 73), "covtype-like": (54, 12)}[kind]
    step = features // per_row
    indices = rng.integers(step, size=(rows, per_row), dtype=np.int32) + np.arange(per_row, dtype=np.int32) * step
    values = rng.random(rows * per_row, dtype=np.float32)
    X = sp.csr_matrix((values, indices.ravel(), np.arange(rows + 1, dtype=np.int64) * per_row), shape=(rows, features))
    score = X @ rng.normal(size=features)
    return X, (score + score.std() * rng.normal(size=rows) > np.median(score)).astype(float)


def seconds_per_call(problem: RankingProblem, repeats: int) -> float:
    """One iteration of the plain algorithm: scores, pairs, gradient, and the master problem over a few cuts."""
    steps: list[float] = []
    for _ in range(repeats):
        history = solve(problem, CuttingPlane(acceleration=False), tol=0.0, max_iter=11).history
        assert len(history) == 11
        steps += np.diff([report.seconds for report in history]).tolist()
    return statistics.median(steps)


def oracle(sections: list[str]) -> None:
    print("\nSeconds per call of the ranking oracle (scores, pairs, gradient), two ranks and 1,000 ranks\n")
    sizes = [1_000, 10_000, 100_000, 1_000_000]
    table = Table(["data", "ranks", *(f"{n:,} rows" for n in sizes), "slope"])
    for kind in ("text-like", "covtype-like"):
        X, y = synthetic(kind, sizes[-1])
        many = np.random.default_rng(1).integers(0, 1000, len(y)) + 500 * y
        for ranks, labels in (("2", y), ("1,000 and more", many)):
            seconds = []
            for n in sizes:
                problem = RankingProblem(X[:n], labels[:n], 1e5)
                seconds.append(seconds_per_call(problem, 20 if n <= 10_000 else 1))
            table.add([kind, ranks, *seconds, f"{slope(sizes, seconds):.3f}"])
    sections.append("## Cost of one oracle call\n\n" + table.markdown())


def growth(sections: list[str]) -> None:
    found = load_binary("covtype")
    if found is None:
        print("covtype: missing, left out")
        return
    X, y = found
    shuffled = np.random.default_rng(0).permutation(len(y))
    sizes = [10_000, 30_000, 100_000, 300_000, 581_012]
    print("\nSeconds to a certified 1e-3 on covtype, at the paper's fixed C (C/n or C/m before the sum of losses)\n")
    table = Table(["task", "C", *(f"{n:,} rows" for n in sizes), "slope", "cuts"])
    for task, C in (
        ("classification", 1e4),
        ("classification", 1e6),
        ("ranking", 1e3),
        ("ranking", 1e4),
        ("ranking", 1e5),
    ):
        seconds, cuts = [], []
        for n in sizes:
            rows = np.sort(shuffled[:n])
            part, labels = X[rows], y[rows]
            if task == "ranking":
                problem: Any = RankingProblem(part, labels, C)
            else:
                problem = BinaryProblem(part, labels, C / n, loss="hinge", bias=1.0)
            solution, took = fastest(lambda problem=problem: solve(problem, solver="cutting_plane", tol=TOL), 3, 1.0)
            assert solution.converged
            seconds.append(took)
            cuts.append(solution.n_iter)
        table.add([task, f"{C:g}", *seconds, f"{slope(sizes, seconds):.3f}", f"{min(cuts)} to {max(cuts)}"])
    sections.append("## Growth of training time on covtype\n\n" + table.markdown())


def covtype(sections: list[str]) -> None:
    found = load_binary("covtype")
    if found is None:
        print("covtype: missing, left out")
        return
    print("\nRanking covtype's two classes, all rows\n")
    table = Table(["C", "rows", "pairs", "certified gap", "cuts", "seconds", "ROC area"])
    X, y = found
    for C in (1.0, 1e3, 1e5):
        problem = RankingProblem(X, y, C)
        solution, seconds = fastest(lambda problem=problem: solve(problem, tol=TOL), 1)
        area = problem.ranks.count(X @ solution.weights[:-1]).share_in_order
        table.add(
            [
                f"{C:g}",
                f"{len(y):,}",
                f"{problem.ranks.n_pairs:.4g}",
                f"{solution.certificate.gap:.1e}",
                solution.n_iter,
                seconds,
                f"{area:.4f}",
            ]
        )
    sections.append("## All of covtype\n\n" + table.markdown())


def dlib(sections: list[str]) -> None:
    try:
        import dlib
    except ImportError:
        print("dlib is not installed (pip install dlib), left out")
        return
    found = load_queries("mq2008")
    if found is None:
        print("mq2008: missing, left out")
        return
    sparse, y, qid = found
    y = (y > 0).astype(float)  # dlib knows two ranks
    dense = np.ascontiguousarray(sparse.toarray(), dtype=np.float64)
    queries = dlib.ranking_pairs()
    for query in np.unique(qid):
        rows = qid == query
        pair = dlib.ranking_pair()
        for row in dense[rows & (y > 0)]:
            pair.relevant.append(dlib.vector(row.tolist()))
        for row in dense[rows & (y == 0)]:
            pair.nonrelevant.append(dlib.vector(row.tolist()))
        if len(pair.relevant) and len(pair.nonrelevant):
            queries.append(pair)
    print(
        "\nmq2008 with two ranks: dlib's svm_rank_trainer (dense float64, the only kind it has) at its default epsilon"
    )
    print("against the loosest tolerance that is at least as good, for three ways to store the rows\n")
    kinds = {"dense float32": dense.astype(np.float32), "dense float64": dense, "CSR float32": sparse}
    heads = [head for kind in kinds for head in (kind, "ratio")]
    table = Table(["C", "dlib", "objective", "tol", "cuts", "objective", *heads])
    ratios: dict[str, list[float]] = {kind: [] for kind in kinds}
    for C in (1.0, 1e1, 1e2, 1e3, 1e4, 1e5):
        trainer = dlib.svm_rank_trainer()
        trainer.c = C
        ranker, theirs = fastest(lambda trainer=trainer: trainer.train(queries))
        objective = RankingProblem(dense, y, C, qid=qid).primal(np.append(np.array(ranker.weights), 0.0))

        def ours(X: Any, tol: float, C: float = C) -> Solution:
            return solve(RankingProblem(X, y, C, qid=qid), tol=tol)

        for tol in np.logspace(-0.5, -5, 46):  # ten per decade, so that the objectives are nearly equal
            solution = ours(dense, tol)
            if solution.certificate.primal <= objective:
                break
        cells: list[Any] = []
        for kind, X in kinds.items():
            _, seconds = fastest(lambda X=X, tol=tol: ours(X, tol))
            ratios[kind].append(theirs / seconds)
            cells += [seconds, f"{theirs / seconds:.1f}x"]
        reached = f"{solution.certificate.primal:.7g}"
        table.add([f"{C:g}", theirs, f"{objective:.7g}", f"{tol:.1e}", solution.n_iter, reached, *cells])
    text = ", ".join(f"{geometric_mean(values):.1f}x ({kind})" for kind, values in ratios.items())
    print(f"\ngeometric mean: {text}")
    sections.append(f"## Ranking mq2008 against dlib\n\n{table.markdown()}\n\nGeometric mean: {text}.")


def acceleration(sections: list[str]) -> None:
    print("\nCuts to a certified 1e-3 with and without acceleration\n")
    table = Table(["data", "task", "C", "plain", "accelerated", "ratio", "plain s", "accelerated s", "ratio s"])
    ratios = []
    cells = [("mq2008", "ranking", C) for C in (1e2, 1e3, 1e4, 1e5)]
    cells += [("lambdarank", "ranking", C) for C in (1e2, 1e3, 1e4)]
    cells += [(name, "ranking", C) for name in ("a9a", "ijcnn1") for C in (1e3, 1e5)]
    cells += [(name, "classification", C) for name in ("a9a", "w8a", "ijcnn1", "imdb") for C in (1e4, 1e5)]
    cells += [("covtype", "ranking", 1e3), ("covtype", "classification", 1e5)]
    for name, task, C in cells:
        found = load_queries(name) or load_binary(name)
        if found is None:
            print(f"{name}: missing, left out")
            continue
        X, y, *qid = found
        if task == "ranking":
            problem: Any = RankingProblem(X, y, C, qid=qid[0] if qid else None)
        else:
            problem = BinaryProblem(X, y, C / len(y), loss="hinge", bias=1.0)
        plain, fast = (solve(problem, CuttingPlane(acceleration=flag), tol=TOL) for flag in (False, True))
        assert plain.converged
        assert fast.converged
        ratio = plain.n_iter / fast.n_iter
        if plain.n_iter > 100:
            ratios.append(ratio)
        table.add(
            [
                name,
                task,
                f"{C:g}",
                plain.n_iter,
                fast.n_iter,
                f"{ratio:.1f}x",
                plain.seconds,
                fast.seconds,
                f"{plain.seconds / fast.seconds:.1f}x",
            ]
        )
    text = (
        f"Where the plain algorithm takes over 100 cuts: {min(ratios):.1f}x to {max(ratios):.1f}x fewer, "
        f"geometric mean {geometric_mean(ratios):.1f}x. (The ranking of covtype starts from cuts on a sample of its "
        "rows, which are not counted.)"
    )
    print(f"\n{text}")
    sections.append(f"## What acceleration gains\n\n{table.markdown()}\n\n{text}")


def solvers(sections: list[str]) -> None:
    print("\nHinge, to a certified 1e-4: cutting planes against dcd and auto (seconds, at most 60 each)\n")
    table = Table(["data", "C", "cutting_plane", "cuts", "dcd", "auto", "difference", "fastest"])
    for name in ("a9a", "w8a", "ijcnn1", "covtype", "imdb", "news20", "mnist"):
        found = load_binary(name)
        if found is None:
            print(f"{name}: missing, left out")
            continue
        X, y = found
        for C in (1e-4, 1e-2, 1.0):
            problem = BinaryProblem(X, y, C, loss="hinge", bias=1.0)
            results = {
                solver: solve(problem, solver=solver, tol=1e-4, time_limit=60.0)
                for solver in ("cutting_plane", "dcd", "auto")
            }
            planes, dcd = results["cutting_plane"].certificate.primal, results["dcd"].certificate.primal
            seconds = {name: s.seconds if s.converged else math.inf for name, s in results.items()}
            table.add(
                [
                    name,
                    f"{C:g}",
                    seconds["cutting_plane"],
                    results["cutting_plane"].n_iter,
                    seconds["dcd"],
                    seconds["auto"],
                    f"{(planes - dcd) / dcd:.1e}",
                    min(seconds, key=lambda solver: seconds[solver]),
                ]
            )
    sections.append("## Cutting planes, dcd and auto\n\n" + table.markdown())


PARTS = {part.__name__: part for part in (oracle, growth, covtype, dlib, acceleration, solvers)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], metavar="PART")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    sections: list[str] = []
    for name in options.parts or PARTS:
        PARTS[name](sections)
    if options.markdown:
        head = f"# Cutting planes\n\n{describe_machine()} Seconds unless it says otherwise.\n\n"
        options.markdown.write_text(head + "\n\n".join(sections) + "\n")


if __name__ == "__main__":
    main()
