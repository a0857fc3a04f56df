"""A calibration as nodes of an ONNX graph: the operations of ``Calibration.probabilities``, in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.models.calibration import Calibration


class Nodes:
    """Nodes and constants of a graph, each with a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """A constant."""
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """The result of an operator."""
        from onnx import helper

        output = name or f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [output], **attributes))
        return output


def probability_nodes(calibration: Calibration, columns: str, count: int) -> Nodes:
    """From the name of the scores, of shape (rows, count), to ``probabilities``, of shape (rows, classes)."""
    own = Nodes()
    if calibration.kind == "temperature":
        beta = float(calibration.x[0][0])
        factors = np.array([[-0.5 * beta, 0.5 * beta]]) if count == 1 else np.full((1, count), beta)
        own.add("Softmax", own.add("Mul", columns, own.constant(factors)), axis=1, name="probabilities")
        return own
    if calibration.kind == "sigmoid":
        slopes, offsets = (np.array([[part[0] for part in parts]]) for parts in (calibration.x, calibration.y))
        line = own.add("Add", own.add("Mul", columns, own.constant(slopes)), own.constant(offsets))
        single = own.add("Sigmoid", line)
    else:
        parts = [_isotonic(own, columns, k, calibration.x[k], calibration.y[k]) for k in range(count)]
        single = parts[0] if count == 1 else own.add("Concat", *parts, axis=1)
    if count == 1:
        others = own.add("Sub", own.constant(np.array([[1.0]])), single)
        own.add("Concat", others, single, axis=1, name="probabilities")
        return own
    total = own.add("ReduceSum", single, own.constant(np.array([1])), keepdims=1)
    known = own.add("Greater", total, own.constant(np.array([[0.0]])))
    shares = own.add("Div", single, own.add("Where", known, total, own.constant(np.array([[1.0]]))))
    own.add("Where", known, shares, own.constant(np.full((1, count), 1.0 / count)), name="probabilities")
    return own


def _isotonic(own: Nodes, columns: str, k: int, x: Any, y: Any) -> str:
    """One column of lines between places ``x``, constant beyond them."""
    from onnx import TensorProto

    score = own.add("Gather", columns, own.constant(np.array([k])), axis=1)
    score = own.add("Max", own.add("Min", score, own.constant(x[-1:, np.newaxis])), own.constant(x[:1, np.newaxis]))
    # How many of the places but the first and the last are at most the score: the number of the line it is on.
    reached = own.add("GreaterOrEqual", score, own.constant(x[np.newaxis, 1:-1]))
    counted = own.add("Cast", reached, to=TensorProto.INT64)
    line = own.add("ReduceSum", counted, own.constant(np.array([1])), keepdims=1)
    slopes = np.append(np.diff(y) / np.diff(x), 0.0)  # a single place has no line
    x0, y0, slope = (own.add("Gather", own.constant(part), line, axis=0) for part in (x, y, slopes))
    return own.add("Add", own.add("Mul", own.add("Sub", score, x0), slope), y0)
