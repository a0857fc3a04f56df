"""Model files: safetensors, whose JSON header carries everything that is not an array.

Nothing in a file is ever executed. Sizes are checked against the file by safetensors, a SHA-256 sum over header and
arrays finds damage and careless tampering, and every field is checked against what it must be before it is used.

Arrays: ``coef`` (or ``coef.data``, ``coef.indices``, ``coef.indptr`` when that is smaller), ``intercept``, numeric
``classes``, ``primal``, ``dual``, ``n_support``, ``history``, ``calibration.x`` and ``calibration.y`` if it has
probabilities, and the dual variables if they are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.io.fields import Fields, ModelFileError, pack_history
from maxmargin.io.files import PathLike, atomic_write
from maxmargin.io.sealed import SealError, seal, unseal
from maxmargin.models.calibration import Calibration, calibration_of
from maxmargin.models.model import Model, PairSummary, Training
from maxmargin.problems.csr import Csr
from maxmargin.problems.losses import Floats
from maxmargin.problems.multiclass import FORMULATIONS
from maxmargin.solvers.method import Method
from maxmargin.solvers.methods import method_of_json, method_to_json

#: Version of the layout. Files of every earlier version stay readable. Version 2 brought models that rank, version 3
#: those of one problem over all classes, version 4 methods with options as solvers, version 5 regression and
#: one-class models, version 6 multilabel models.
FORMAT = 6
#: Parameters that are left out where they have these values, so that earlier versions, which do not know them, can read
#: the file.
LATER_DEFAULTS = {"penalty": "l2", "dual": "auto", "solver": "auto"}
#: Parameters that belong to the place where a model was trained and not to the model.
NOT_STORED = ("checkpoint", "checkpoint_interval")
#: The entry of the safetensors metadata that holds the checksum and the header.
ENTRY = "maxmargin"
#: Bytes that weights and labels may take in memory; a small file can ask for any number.
LARGEST_WEIGHTS, LARGEST_TEXT = 1 << 40, 1 << 28
_CLASS_TYPES = {np.dtype(letter).str for letter in "?bBhHiIlLqQefd"}


def write_model(model: Model, path: PathLike, *, dual: bool = True) -> None:
    """Write a model whole, or leave a file of that name as it was."""
    contents = to_bytes(model, dual=dual)
    with atomic_write(path) as file:
        file.write(contents)


def parse_model(contents: bytes, name: str) -> Model:
    """The model in the contents of a file; `ModelFileError` with its name if there is any doubt about it."""
    try:
        return from_bytes(contents)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: {error}") from error.__cause__


def to_bytes(model: Model, *, dual: bool = True) -> bytes:
    """A model as the contents of a file."""
    tensors: dict[str, NDArray[Any]] = {
        **_pack_coef(model.coef),
        "intercept": np.ascontiguousarray(model.intercept, dtype=np.float64),
    }
    header: dict[str, Any] = {
        "format": _format_of(model),
        "library": f"maxmargin {_version()}",
        "estimator": model.estimator,
        "parameters": {
            name: _plain(name, value)
            for name, value in model.parameters.items()
            if name not in NOT_STORED and (name not in LATER_DEFAULTS or value != LATER_DEFAULTS[name])
        },
        "shape": list(model.coef.shape),
        "classes": _pack_classes(model.classes, tensors),
        "feature_names": model.feature_names,
        "source": model.source,
        "training": None if model.training is None else _pack_training(model.training, tensors, dual),
    }
    if model.multilabel is not None:
        header["multilabel"] = {"output": model.multilabel, "sparse_coef": isinstance(model.coef, Csr)}
    if model.calibration is not None:
        # A field and arrays of their own, which earlier versions do not look for.
        header["calibration"] = _pack_calibration(model.calibration, tensors)
    return seal(ENTRY, header, tensors)


def from_bytes(contents: bytes) -> Model:
    """The inverse of `to_bytes`, for bytes nobody vouches for."""
    try:
        header, tensors = unseal(contents, ENTRY, "model")
    except SealError as error:
        raise ModelFileError(str(error)) from error.__cause__
    fields = ModelFields(header, tensors)
    version = fields.get("format", int)
    if not 1 <= version <= FORMAT:
        raise ModelFileError(
            f"it has format version {version}, this library ({_version()}) knows 1 to {FORMAT}; "
            f"it was written by {str(header.get('library'))[:60]}"
        )
    return fields.model()


def _format_of(model: Model) -> int:
    """The oldest version that can read it."""
    if model.multilabel is not None:
        return 6
    if model.estimator in ("LinearSVR", "OneClassSVM"):
        return 5
    if isinstance(model.parameters.get("solver"), Method):
        return 4
    if model.ranks:
        return 2
    return 3 if model.training is not None and model.parameters.get("multi_class") in FORMULATIONS else 1


def _version() -> str:
    from maxmargin import __version__

    return __version__


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON; a mapping becomes a list of pairs, as its keys need not be text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Method):
        return method_to_json(value)
    if isinstance(value, dict):
        return [[_plain(name, key), _plain(name, entry)] for key, entry in value.items()]
    if name == "random_state" and not (value is None or isinstance(value, int)):
        import warnings

        warnings.warn(
            "random_state is a generator, which a model file cannot hold; it is stored as None. Predictions are not "
            "affected.",
            stacklevel=2,
        )
        return None
    if isinstance(value, float) and not np.isfinite(value):
        raise ValueError(f"the parameter {name}={value} is not finite and cannot be stored in a model file")
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"the parameter {name}={value!r} cannot be stored in a model file")


def _pack_coef(coef: Any) -> dict[str, NDArray[Any]]:
    if not isinstance(coef, Csr):
        return _pack_matrix("coef", np.ascontiguousarray(coef, dtype=np.float64))
    return {
        "coef.data": np.ascontiguousarray(coef.data, dtype=np.float64),
        "coef.indices": np.ascontiguousarray(coef.indices),
        "coef.indptr": np.ascontiguousarray(coef.indptr, dtype=np.int64),
    }


def _pack_matrix(name: str, matrix: Floats) -> dict[str, NDArray[Any]]:
    """Dense, or sparse where that takes less space. A zero with a minus sign counts as stored: bits must come back."""
    stored: Any = matrix.view(np.int64) != 0
    count = int(stored.sum())
    index = np.int32 if matrix.shape[1] <= np.iinfo(np.int32).max else np.int64
    if count * (8 + index().itemsize) + 8 * (matrix.shape[0] + 1) >= matrix.nbytes:
        return {name: matrix}
    rows = [np.flatnonzero(row) for row in stored]
    return {
        f"{name}.data": matrix[stored],
        f"{name}.indices": np.concatenate(rows).astype(index),
        f"{name}.indptr": np.cumsum([0, *map(len, rows)], dtype=np.int64),
    }


def _pack_classes(classes: NDArray[Any], tensors: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """Numbers as an array, to keep their bits; texts in the header."""
    if classes.dtype.kind in "iufb":
        wide = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}[classes.dtype.kind]
        stored: NDArray[Any] = classes.astype(wide)
        native = classes.dtype.newbyteorder("=").str
        if native not in _CLASS_TYPES:
            raise TypeError(f"class labels of type {classes.dtype} cannot be stored in a model file")
        if not np.array_equal(stored.astype(classes.dtype), classes) or np.any((stored < 0) != (classes < 0)):
            raise TypeError("the class labels are too large to be stored in a model file")
        tensors["classes"] = stored
        return {"dtype": native}
    values = classes.tolist()
    if all(isinstance(value, str) for value in values):
        return {"dtype": "object" if classes.dtype == object else "str", "values": values}
    raise TypeError(f"class labels of type {classes.dtype} cannot be stored in a model file; use numbers or strings")


def _pack_training(training: Training, tensors: dict[str, NDArray[Any]], dual: bool) -> dict[str, Any]:
    tensors["primal"] = np.asarray(training.primal, dtype=np.float64)
    tensors["dual"] = np.asarray(training.dual, dtype=np.float64)
    tensors["n_support"] = np.asarray(training.n_support, dtype=np.int64)
    solvers = pack_history(training.history, tensors)
    header: dict[str, Any] = {
        "converged": bool(training.converged),
        "n_iter": int(training.n_iter),
        "solvers": list(training.solvers),
        "history_solvers": solvers,
        "rows": None,
    }
    if training.pairs is not None:
        header["pairs"] = list(training.pairs)
    if dual and training.dual_coef is not None:
        matrix = training.dual_coef
        tensors["dual_coef.data"] = np.asarray(matrix.data, dtype=np.float64)
        tensors["dual_coef.indices"] = np.asarray(matrix.indices)
        tensors["dual_coef.indptr"] = np.asarray(matrix.indptr, dtype=np.int64)
        header["rows"] = int(matrix.shape[1])
    return header


def _pack_calibration(calibration: Calibration, tensors: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """The numbers of all columns one after the other, and how many each has."""
    tensors["calibration.x"] = np.concatenate(calibration.x)
    tensors["calibration.y"] = np.concatenate(calibration.y)
    return {
        "kind": calibration.kind,
        "sizes": [[len(x), len(y)] for x, y in zip(calibration.x, calibration.y, strict=True)],
    }


class ModelFields(Fields):
    """The fields of a model, each checked when it is taken."""

    def model(self) -> Model:
        """The whole model."""
        shape = self.get("shape", list)
        if len(shape) != 2 or not all(isinstance(size, int) and 1 <= size < 1 << 48 for size in shape):
            raise ModelFileError("its header has no proper 'shape'")
        problems, features = shape
        classes = self.classes()
        expected = {len(classes), 1} if len(classes) == 2 else {len(classes)} - {0, 1}
        if self.get("estimator", str) in ("LinearRankSVM", "LinearSVR"):
            expected = set() if len(classes) else {1}
        if self.get("estimator", str) == "OneClassSVM":
            expected = {1} if classes.tolist() == [-1, 1] else set()
        multilabel, sparse = self.multilabel()
        if multilabel is not None:
            expected = {len(classes)} - {0}
        if problems not in expected:
            raise ModelFileError(f"it has {len(classes)} classes, but weights for {problems} problems")
        names = self.header.get("feature_names")
        return Model(
            estimator=self.get("estimator", str),
            parameters=self.parameters(),
            classes=classes,
            coef=self.csr("coef", (problems, features)) if sparse else self.coef(problems, features),
            intercept=self.finite("intercept", (problems,)),
            training=self.training(problems, len(classes), self.is_joint()),
            feature_names=None if names is None else self.texts(names, "feature_names", features),
            source=self.source(features),
            calibration=self.calibration(problems),
            multilabel=multilabel,
        )

    def multilabel(self) -> tuple[str | None, bool]:
        """The kind of predictions of a multilabel model, and whether its weights stay sparse."""
        if self.header.get("multilabel") is None:
            return None, False
        fields = self.get("multilabel", dict)
        output, sparse = self.get("output", str, fields), self.get("sparse_coef", bool, fields)
        if output not in ("dense", "sparse") or self.header.get("estimator") != "LinearSVC" or self.is_joint():
            raise ModelFileError("its header has no proper 'multilabel'")
        return output, sparse

    def calibration(self, columns: int) -> Calibration | None:
        """How scores become probabilities, if the model knows."""
        if self.header.get("calibration") is None:
            return None
        fields = self.get("calibration", dict)
        sizes = self.get("sizes", list, fields)
        proper = all(
            isinstance(pair, list)
            and len(pair) == 2
            and all(isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 1 << 40 for size in pair)
            for pair in sizes
        )
        if not proper or not 1 <= len(sizes) <= columns:
            raise ModelFileError("its header has no proper 'calibration'")
        x, y = (
            np.split(self.finite(name, (sum(counts),)), np.cumsum(counts)[:-1])
            for name, counts in zip(("calibration.x", "calibration.y"), zip(*sizes, strict=True), strict=True)
        )
        try:
            return calibration_of(self.get("kind", str, fields), x, y, columns)
        except ValueError as error:
            raise ModelFileError(str(error)) from error

    def coef(self, problems: int, features: int) -> Floats:
        """The weights."""
        if "coef" in self.tensors:
            return self.finite("coef", (problems, features))
        sparse = self.csr("coef", (problems, features))
        if features * problems * 8 > LARGEST_WEIGHTS:
            raise ModelFileError(f"its weights would take {features * problems * 8} bytes")
        try:
            coef = np.zeros((problems, features))
        except MemoryError as error:
            raise ModelFileError(f"its weights take {features * problems * 8} bytes, more than there are") from error
        coef[np.repeat(np.arange(problems), np.diff(sparse.indptr)), sparse.indices] = sparse.data
        return coef

    def classes(self) -> NDArray[Any]:
        """The labels."""
        classes = self.get("classes", dict)
        dtype = self.get("dtype", str, classes)
        if dtype in ("str", "object"):
            values = self.texts(classes.get("values"), "classes")
            # an array of text takes for each as much as for the longest
            if not values or 4 * len(values) * max(map(len, values)) > LARGEST_TEXT:
                raise ModelFileError("its header has no proper 'classes'")
            found = np.array(values, dtype=object if dtype == "object" else None)
        else:
            # a table and not numpy.dtype(), which makes sense of the strangest texts
            if dtype not in _CLASS_TYPES:
                raise ModelFileError("its header has no proper 'classes'")
            kind = np.dtype(dtype)
            stored = self.array("classes", (None,), {"b": "|b1", "f": "<f8"}.get(kind.kind, "<i8"))
            with np.errstate(all="ignore"):
                found = stored.astype(kind)
            if not np.array_equal(found.astype(stored.dtype), stored):
                raise ModelFileError("its classes do not fit their type")
        if len(set(found.tolist())) != len(found):
            raise ModelFileError("its classes are not distinct")
        return found

    def parameters(self) -> dict[str, Any]:
        """The estimator's parameters."""
        parameters: dict[str, Any] = self.get("parameters", dict)
        for name, value in parameters.items():
            if name == "class_weight" and isinstance(value, list):
                pairs = [pair for pair in value if isinstance(pair, list) and len(pair) == 2]
                if len(pairs) != len(value) or not all(_is_scalar(part) for pair in pairs for part in pair):
                    raise ModelFileError("its header has no proper 'class_weight'")
                parameters[name] = dict(pairs)
            elif name == "solver" and isinstance(value, dict):
                try:
                    parameters[name] = method_of_json(value)
                except ValueError as error:
                    raise ModelFileError(f"its solver cannot be used: {error}") from error
            elif not _is_scalar(value):
                raise ModelFileError(f"its header has no proper parameter {name[:60]!r}")
        return parameters

    def source(self, features: int) -> dict[str, Any]:
        """How the training data were read."""
        source: dict[str, Any] = self.get("source", dict)
        checks: dict[str, Callable[[Any], bool]] = {
            "zero_based": lambda value: isinstance(value, bool),
            "header": lambda value: isinstance(value, bool),
            "label": lambda value: value is None or isinstance(value, str) or _is_position(value, features),
            "columns": lambda value: _are_columns(value, features),
        }
        for name, value in source.items():
            if name not in checks or not checks[name](value):
                raise ModelFileError(f"its header has no proper 'source' ({name[:60]})")
        return source

    def is_joint(self) -> bool:
        """Whether all classes were one problem."""
        return self.get("parameters", dict).get("multi_class") in tuple(FORMULATIONS)

    def training(self, weights: int, n_classes: int, joint: bool) -> Training | None:
        """How the model came about."""
        training = self.header.get("training")
        if training is None:
            return None
        if not isinstance(training, dict):
            raise ModelFileError("its header has no proper 'training'")
        rows = training.get("rows")
        dual_coef = None
        if rows is not None:
            if not 1 <= self.get("rows", int, training) < 1 << 48:
                raise ModelFileError("its header has no proper 'rows'")
            dual_coef = self.csr("dual_coef", (weights, rows))
        problems = 1 if joint else weights
        return Training(
            primal=self.finite("primal", (problems,)),
            dual=self.finite("dual", (problems,)),
            converged=self.get("converged", bool, training),
            n_iter=self.count("n_iter", training),
            solvers=self.texts(training.get("solvers"), "solvers", problems),
            n_support=self.counts(
                "n_support", (1 if self.header["estimator"] == "OneClassSVM" else max(n_classes, 1),)
            ),
            history=self.history(problems, self.texts(training.get("history_solvers"), "history_solvers")),
            dual_coef=dual_coef,
            pairs=self.pairs(training.get("pairs")),
        )

    def pairs(self, values: Any) -> PairSummary | None:
        """What a ranker makes of its training data."""
        if values is None:
            return None
        if (
            not isinstance(values, list)
            or len(values) != len(PairSummary._fields)
            or not all(type(value) in (int, float) and 0 <= value < float("inf") for value in values)
            or type(values[-1]) is not int
        ):
            raise ModelFileError("its header has no proper 'pairs'")
        everything, swapped, tied, groups = values
        return PairSummary(float(everything), float(swapped), float(tied), groups)


def _is_position(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _is_scalar(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _are_columns(value: Any, features: int) -> bool:
    """Pairs of a name and either null (a number) or the categories that became features, in all ``features``."""
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        return False
    count = 0
    for name, categories in value:
        if not isinstance(name, str):
            return False
        if categories is None:
            count += 1
        elif isinstance(categories, list) and all(isinstance(category, str) for category in categories):
            count += len(categories)
        else:
            return False
    return count == features
