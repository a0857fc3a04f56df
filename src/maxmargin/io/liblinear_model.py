"""LIBLINEAR's model files: a few lines of header, then one line of weights per feature.

    solver_type L2R_L2LOSS_SVC_DUAL
    nr_class 2
    label 1 -1
    nr_feature 123
    bias 1
    w
    0.25
    ...

With two classes there is one weight per feature, positive for the label named first. Crammer-Singer models have two,
but LIBLINEAR decides by the sign of the first alone, and so do we. With ``bias >= 0`` one more line holds the weight
of a constant feature of that value. Predictions are those of LIBLINEAR even where scores tie, which is why the classes
keep the file's order. Regression and the one-class problem
(nr_class 2, no labels) have one weight per feature, too, and the latter a line with its offset ``rho``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin import _core
from maxmargin.io.files import PathLike, atomic_write
from maxmargin.models.model import INLIER_OR_NOT, NO_CLASSES, Model

#: How every such file begins.
START = b"solver_type "
#: LIBLINEAR's name of the one-class problem.
ONE_CLASS = "ONECLASS_SVM"
#: The losses of regression by LIBLINEAR's name of the solver.
REGRESSION_TYPES: dict[str, str] = {
    "L2R_L2LOSS_SVR": "squared_epsilon_insensitive",
    "L2R_L2LOSS_SVR_DUAL": "squared_epsilon_insensitive",
    "L2R_L1LOSS_SVR_DUAL": "epsilon_insensitive",
}
_WRITTEN_REGRESSION = {
    "squared_epsilon_insensitive": "L2R_L2LOSS_SVR",
    "least_squares": "L2R_L2LOSS_SVR",  # the same with epsilon = 0, which the file does not hold
    "epsilon_insensitive": "L2R_L1LOSS_SVR_DUAL",
}
#: Loss, formulation and penalty by LIBLINEAR's name of the solver; what is missing is no SVM for classification.
SOLVER_TYPES = {
    "L2R_L2LOSS_SVC_DUAL": ("squared_hinge", "ovr", "l2"),
    "L2R_L2LOSS_SVC": ("squared_hinge", "ovr", "l2"),
    "L2R_L1LOSS_SVC_DUAL": ("hinge", "ovr", "l2"),
    "MCSVM_CS": ("hinge", "crammer_singer", "l2"),
    "L1R_L2LOSS_SVC": ("squared_hinge", "ovr", "l1"),
}
_WRITTEN = {
    ("squared_hinge", "ovr", "l2"): "L2R_L2LOSS_SVC_DUAL",
    ("hinge", "ovr", "l2"): "L2R_L1LOSS_SVC_DUAL",
    ("hinge", "crammer_singer", "l2"): "MCSVM_CS",
    ("squared_hinge", "ovr", "l1"): "L1R_L2LOSS_SVC",
}
LARGEST_LABEL = 2**31 - 1


def write_liblinear(model: Model, path: PathLike) -> None:
    """Write a model that ``liblinear-predict`` reads; `ValueError` says why when it cannot be expressed."""
    if model.ranks:
        raise ValueError("LIBLINEAR has no models that rank")
    if model.multilabel is not None:
        raise ValueError("LIBLINEAR has no multilabel models")
    with_bias = bool(np.any(model.intercept != 0)) or bool(model.parameters.get("fit_intercept"))
    weights = np.column_stack([model.coef, model.intercept]) if with_bias else model.coef
    if model.estimator == "OneClassSVM":
        _write(path, ONE_CLASS, None, model.coef, False, rho=-float(model.intercept[0]))
        return
    if model.predicts_numbers:
        _write(path, _WRITTEN_REGRESSION[model.parameters["loss"]], None, weights, with_bias)
        return
    multi_class = model.parameters.get("multi_class", "ovr")
    loss = model.parameters.get("loss") if multi_class == "ovr" else "hinge"
    key = (loss, multi_class, model.parameters.get("penalty", "l2"))
    if key not in _WRITTEN:
        penalty = "" if key[2] == "l2" else f" and penalty={key[2]!r}"
        raise ValueError(f"LIBLINEAR has no model for loss={key[0]!r} with multi_class={key[1]!r}{penalty}")
    if model.classes.dtype.kind not in "iuf" or not np.all(
        (model.classes == np.round(model.classes)) & (np.abs(model.classes) <= LARGEST_LABEL)
    ):
        raise ValueError(
            f"LIBLINEAR's models hold whole numbers as labels, not {model.classes.tolist()[:5]}; number the classes"
        )
    labels = model.classes.astype(np.int64)
    if len(labels) == 2:
        labels = labels[::-1]  # a positive score means the label named first
        single = weights if len(weights) == 1 else weights[1:] - weights[:1]
        weights = np.vstack([single, -single]) if key[1] == "crammer_singer" else single
    _write(path, _WRITTEN[key], labels.tolist(), weights, with_bias)


def _write(
    path: PathLike,
    solver_type: str,
    labels: list[int] | None,
    weights: Any,
    with_bias: bool,
    rho: float | None = None,
) -> None:
    """A header, and one line for each feature and a bias."""
    named = "" if labels is None else f"label {' '.join(map(str, labels))}\n"
    header = (
        f"solver_type {solver_type}\nnr_class {2 if labels is None else len(labels)}\n{named}"
        f"nr_feature {weights.shape[1] - with_bias}\nbias {1 if with_bias else -1}\n"
        f"{'' if rho is None else f'rho {rho!r}{chr(10)}'}w\n"
    )
    with atomic_write(path) as file:
        file.write(header.encode())
        for begin in range(0, weights.shape[1], 65536):
            block = weights[:, begin : begin + 65536].T.tolist()
            file.write("".join(f"{' '.join(map(repr, row))} \n" for row in block).encode())


def parse_liblinear(contents: bytes, name: str) -> Model:
    """The support vector machine in the contents of a file; `ValueError` with its name if there is none."""
    head, mark, body = contents.partition(b"\nw\n")
    if not mark:
        head, mark, body = contents.replace(b"\r\n", b"\n").partition(b"\nw\n")
    if not mark:
        raise ValueError(f"{name}: not a LIBLINEAR model, or cut off: there is no line 'w' before the weights")
    header = _read_header(head, name)
    classes, features, bias = _check_header(header, name)
    solver_type = header["solver_type"][0]
    without_labels = solver_type == ONE_CLASS or solver_type in REGRESSION_TYPES
    loss, multi_class, penalty = SOLVER_TYPES.get(solver_type, (REGRESSION_TYPES.get(solver_type), "ovr", "l2"))
    two = len(classes) == 2 or without_labels
    columns = 1 if two and multi_class == "ovr" else len(classes)
    lines = features + (bias >= 0)
    weights, bad = _core.read_numbers(np.frombuffer(body, dtype=np.uint8))
    if bad >= 0:
        line = head.count(b"\n") + 3 + body.count(b"\n", 0, bad)
        text = body[bad : bad + 40].split()[0].decode("ascii", "replace")
        raise ValueError(f"{name}, line {line}: expected a weight, a finite number, not {text!r}")
    if len(weights) != lines * columns:
        raise ValueError(
            f"{name}: {lines} lines of {columns} weights were announced, which makes {lines * columns}, but "
            f"{len(weights)} are there; the file is cut off or damaged"
        )
    table = weights.reshape(lines, columns)[:, : 1 if two else columns]
    with np.errstate(over="ignore"):
        intercept = table[-1] * bias if bias >= 0 else np.zeros(table.shape[1])
    if not np.all(np.isfinite(intercept)):
        raise ValueError(f"{name}: the bias times its weight is too large")
    source = {"zero_based": False}
    coef = np.ascontiguousarray(table[:features].T)
    if solver_type == ONE_CLASS:
        return Model("OneClassSVM", {}, INLIER_OR_NOT, coef, np.array([-_rho(header, name)]), source=source)
    parameters = {
        "loss": loss,
        **({} if without_labels else {"penalty": penalty, "multi_class": multi_class}),
        "fit_intercept": bias > 0,
        "intercept_scaling": bias if bias > 0 else 1.0,
    }
    return Model(
        estimator="LinearSVR" if without_labels else "LinearSVC",
        parameters=parameters,
        classes=classes[::-1].copy() if two else classes,
        coef=coef,
        intercept=intercept.astype(np.float64),
        source=source,
    )


def _rho(header: dict[str, list[str]], name: str) -> float:
    """The offset of a one-class model."""
    try:
        rho = float(header["rho"][0])
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(f"{name}: the header of the LIBLINEAR model has no proper 'rho'") from error
    if not np.isfinite(rho):
        raise ValueError(f"{name}: the 'rho' of the LIBLINEAR model is not finite")
    return rho


def _read_header(head: bytes, name: str) -> dict[str, list[str]]:
    header: dict[str, list[str]] = {}
    for number, line in enumerate(head.decode("ascii", "replace").splitlines(), start=1):
        words = line.split()
        if not words:
            continue
        if words[0] not in ("solver_type", "nr_class", "label", "nr_feature", "bias", "rho") or words[0] in header:
            raise ValueError(f"{name}, line {number}: unexpected {words[0][:40]!r} in the header of a LIBLINEAR model")
        header[words[0]] = words[1:]
    return header


def _check_header(header: dict[str, list[str]], name: str) -> tuple[Any, int, float]:
    """Classes, features and bias."""

    def one(key: str, kind: type) -> Any:
        try:
            [word] = header[key]
            return kind(word)
        except (KeyError, ValueError) as error:
            raise ValueError(f"{name}: the header of the LIBLINEAR model has no proper {key!r}") from error

    solver = one("solver_type", str)
    without_labels = solver == ONE_CLASS or solver in REGRESSION_TYPES
    if solver not in SOLVER_TYPES and not without_labels:
        raise ValueError(
            f"{name}: this is a LIBLINEAR model of type {solver[:40]}, which is not a support vector machine; "
            f"readable are {', '.join([*SOLVER_TYPES, *REGRESSION_TYPES, ONE_CLASS])}"
        )
    n_classes, features, bias = one("nr_class", int), one("nr_feature", int), one("bias", float)
    if not np.isfinite(bias):
        raise ValueError(f"{name}: the bias of the LIBLINEAR model is not finite")
    if without_labels:
        if n_classes != 2 or "label" in header or features < 1 or (solver == ONE_CLASS and bias >= 0):
            kind = "one-class model" if solver == ONE_CLASS else "regression"
            raise ValueError(
                f"{name}: nr_class {n_classes}, nr_feature {features} and bias {bias:g} do not make a {kind}"
            )
        return NO_CLASSES, features, bias
    try:
        labels = [int(word) for word in header.get("label", [])]
    except ValueError as error:
        raise ValueError(f"{name}: the labels of the LIBLINEAR model are not whole numbers") from error
    if n_classes < 2 or len(labels) != n_classes or len(set(labels)) != n_classes or features < 1:
        raise ValueError(
            f"{name}: nr_class {n_classes}, nr_feature {features} and {len(labels)} labels do not make a classifier"
        )
    if max(map(abs, labels)) > LARGEST_LABEL:
        raise ValueError(f"{name}: a label of the LIBLINEAR model is too large")
    return np.array(labels), features, bias
