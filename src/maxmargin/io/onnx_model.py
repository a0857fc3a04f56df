"""A model as an ONNX graph, for programs without Python: double precision, labels and scores as ours.

The graph is a product with the weights, a comparison or a maximum, and a look into the table of labels; it needs the
operators of ONNX itself only. The package ``onnx`` (the extra ``[onnx]``) writes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.io.onnx_probabilities import probability_nodes
from maxmargin.models.model import Model

#: Operators of this version are known to every runtime since 2022.
OPSET, IR_VERSION = 17, 8
#: A protocol buffer, which an ONNX file is, cannot be larger.
LARGEST = 2**31 - 2**20
NEEDS_ONNX = "to write ONNX files, the package onnx is needed: pip install 'maxmargin[onnx]'"


def onnx_graph(model: Model) -> Any:
    """A model as ``onnx.ModelProto``.

    The input ``X`` has shape (rows, features) and double precision. The outputs are ``scores``, of shape (rows,) or
    (rows, classes), for a classifier ``label``, of shape (rows,): 64-bit integers, doubles, booleans or texts, and
    for a calibrated one ``probabilities``, of shape (rows, classes).

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.io.onnx_model import onnx_graph
    >>> from maxmargin.models.model import Model
    >>> graph = onnx_graph(Model("LinearSVC", {}, np.array(["no", "yes"]), np.array([[2.0]]), np.array([-1.0]))).graph
    >>> [output.name for output in graph.output]
    ['label', 'scores']
    """
    try:
        import onnx
        from onnx import TensorProto, helper
    except ImportError as error:
        raise ImportError(NEEDS_ONNX) from error

    if model.multilabel is not None:
        raise ValueError("the ONNX graph of a model has one label for each row; this one has any number of them")
    coef = np.ascontiguousarray(model.coef, dtype=np.float64)
    if coef.nbytes > LARGEST:
        raise ValueError(
            f"the weights take {coef.nbytes / 2**30:.1f} GB, and an ONNX file holds 2 GB at most; drop features or "
            "classes, or keep the model in a file of save_model"
        )
    single = len(coef) == 1
    constants = [_constant("coef", coef), _constant("intercept", np.asarray(model.intercept, dtype=np.float64))]
    nodes = [helper.make_node("Gemm", ["X", "coef", "intercept"], ["columns" if single else "scores"], transB=1)]
    outputs = [helper.make_tensor_value_info("scores", TensorProto.DOUBLE, ["rows"] if single else ["rows", len(coef)])]
    if single:
        constants.append(_constant("last_axis", np.array([1])))
        nodes.append(helper.make_node("Squeeze", ["columns", "last_axis"], ["scores"]))
    if len(model.classes):
        classes = _constant("classes", _labels(model.classes))
        constants.append(classes)
        if single:
            constants.append(_constant("zero", np.array(0.0)))
            compare = "GreaterOrEqual" if model.estimator == "OneClassSVM" else "Greater"
            nodes.append(helper.make_node(compare, ["scores", "zero"], ["positive"]))
            nodes.append(helper.make_node("Cast", ["positive"], ["index"], to=TensorProto.INT64))
        else:
            nodes.append(helper.make_node("ArgMax", ["scores"], ["index"], axis=1, keepdims=0))
        nodes.append(helper.make_node("Gather", ["classes", "index"], ["label"], axis=0))
        outputs.insert(0, helper.make_tensor_value_info("label", classes.data_type, ["rows"]))
    if model.calibration is not None:
        own = probability_nodes(model.calibration, "columns" if single else "scores", len(coef))
        nodes += own.nodes
        constants += own.constants
        shape: list[str | int] = ["rows", len(model.classes)]
        outputs.append(helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, shape))
    rows = helper.make_tensor_value_info("X", TensorProto.DOUBLE, ["rows", coef.shape[1]])
    graph = helper.make_graph(nodes, model.estimator, [rows], outputs, constants)
    proto = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="maxmargin",
        producer_version=_version(),
    )
    if model.feature_names is not None:
        import json

        helper.set_model_props(proto, {"feature_names": json.dumps(model.feature_names)})
    onnx.checker.check_model(proto)
    return proto


def _constant(name: str, values: Any) -> Any:
    from onnx import TensorProto, helper, numpy_helper

    if values.dtype.kind == "U":
        texts = [text.encode() for text in values.tolist()]
        return helper.make_tensor(name, TensorProto.STRING, [len(texts)], texts)
    return numpy_helper.from_array(values, name)


def _labels(classes: Any) -> Any:
    """Labels in one of the few types that runtimes know."""
    if classes.dtype == object:
        classes = np.array(classes.tolist())
    kinds = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_, "U": np.str_}
    if classes.dtype.kind not in kinds:
        raise TypeError(f"class labels of type {classes.dtype} cannot go into an ONNX file; use numbers or strings")
    return classes.astype(kinds[classes.dtype.kind])


def _version() -> str:
    from maxmargin import __version__

    return __version__
