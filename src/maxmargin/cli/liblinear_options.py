"""LIBLINEAR's option string (``-s 3 -c 1 -B 1``) as options of ``maxmargin train`` and ``cv``."""

from __future__ import annotations

from typing import Any

#: Options by the number behind ``-s``.
SOLVERS = {
    1: {"loss": "squared_hinge"},
    2: {"loss": "squared_hinge"},
    3: {"loss": "hinge"},
    4: {"multi_class": "crammer_singer"},
    5: {"loss": "squared_hinge", "penalty": "l1"},
    11: {"task": "regression", "loss": "squared_epsilon_insensitive"},
    12: {"task": "regression", "loss": "squared_epsilon_insensitive"},
    13: {"task": "regression", "loss": "epsilon_insensitive"},
    21: {"task": "one_class"},
}
OTHERS = {
    0: "logistic regression",
    6: "logistic regression with L1 regularisation",
    7: "logistic regression",
}
#: LIBLINEAR's own value of ``-p``.
DEFAULT_EPSILON = 0.1
#: What to say of ``-w`` when there are more than two classes.
WEIGHTS_NOTE = "-w weighs the rows of a class in every problem; LIBLINEAR only in the problem of that class"
#: A stopping tolerance of LIBLINEAR bounds no error; ours never promises less than this.
LOOSEST_TOL = 1e-3


def parse_liblinear(text: str) -> tuple[dict[str, Any], list[str]]:
    """Options of ``train`` by name, those in the text only, and notes on what means something else here.

    Examples
    --------
    >>> from maxmargin.cli.liblinear_options import parse_liblinear
    >>> parse_liblinear("-s 3 -c 10 -B 1")[0]
    {'loss': 'hinge', 'C': 10.0, 'no_intercept': False, 'intercept_scaling': 1.0}
    """
    import shlex

    options: dict[str, Any] = {}
    notes: list[str] = []
    weights: list[str] = []
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ValueError(f"--liblinear {text!r}: {error}") from error
    while words:
        word = words.pop(0)
        name, value = word[:2], word[2:]
        if len(word) < 2 or word[0] != "-":
            raise ValueError(f"--liblinear: {word!r} is not an option; options look like -s 3")
        if name in ("-q", "-C", "-R"):
            if value:
                raise ValueError(f"--liblinear: unknown option {word!r}")
        elif name == "-w":
            if not words:
                raise ValueError(f"--liblinear: {word} needs a number")
            weights.append(f"{_whole(value, '-w')}={_number(words.pop(0), word)}")
            continue
        else:
            if not value and not words:
                raise ValueError(f"--liblinear: {word} needs a number")
            value = value or words.pop(0)
        _take(name, value, options, notes)
    if options.get("no_penalize_intercept") and options.get("intercept_scaling") != 1.0:
        raise ValueError("--liblinear: -R needs -B 1")
    if options.get("search") and "C" in options:
        options["first_C"] = True
    if options.get("task") == "regression":
        options.setdefault("epsilon", DEFAULT_EPSILON)
    elif "epsilon" in options:
        raise ValueError("--liblinear: -p belongs to regression, -s 11, 12 and 13")
    if "nu" in options and options.get("task") != "one_class":
        raise ValueError("--liblinear: -n belongs to the one-class problem, -s 21")
    if weights:
        options["class_weight"] = tuple(weights)
    return options, notes


def _take(name: str, value: str, options: dict[str, Any], notes: list[str]) -> None:
    if name == "-s":
        kind = _whole(value, name)
        if kind not in SOLVERS:
            what = OTHERS.get(kind, "unknown to LIBLINEAR too")
            raise ValueError(f"--liblinear: -s {kind} is {what}; maxmargin trains -s 1, 2, 3, 4, 5, 11, 12, 13 and 21")
        options.update(SOLVERS[kind])
    elif name == "-c":
        options["C"] = _number(value, name)
    elif name == "-e":
        if not _number(value, name) > 0:
            raise ValueError(f"--liblinear: -e needs a positive number, not {value}")
        options["tol"] = min(_number(value, name), LOOSEST_TOL)
        notes.append(f"-e {value} bounds no error in LIBLINEAR; here the certified gap is at most {options['tol']:g}")
    elif name == "-B":
        bias = _number(value, name)
        if not abs(bias) < float("inf"):
            raise ValueError(f"--liblinear: -B needs a finite number, not {value}")
        options["no_intercept"] = bias <= 0
        options["intercept_scaling"] = bias if bias > 0 else 1.0
    elif name == "-m":
        options["jobs"] = _whole(value, name)
    elif name == "-q":
        options["quiet"] = True
    elif name == "-v":
        options["folds"] = _whole(value, name)
        if options["folds"] < 2:
            raise ValueError(f"--liblinear: -v needs at least 2 folds, not {value}")
    elif name == "-C":
        options["search"] = True
    elif name == "-R":
        options["no_penalize_intercept"] = True
    elif name == "-n":
        options["nu"] = _number(value, name)
        if not 0 < options["nu"] <= 1:
            raise ValueError(f"--liblinear: -n needs a number above 0 and up to 1, not {value}")
    elif name == "-p":
        options["epsilon"] = _number(value, name)
        if not 0 <= options["epsilon"] < float("inf"):
            raise ValueError(f"--liblinear: -p needs a number from 0 on, not {value}")
    else:
        raise ValueError(f"--liblinear: unknown option {name!r}")


def _number(value: str, name: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"--liblinear: {name} needs a number, not {value!r}") from None


def _whole(value: str, name: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError(f"--liblinear: {name} needs a whole number, not {value!r}") from None
