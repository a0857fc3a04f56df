"""The method that parameters of an estimator ask for together."""

from __future__ import annotations

from dataclasses import replace

from maxmargin.problems.losses import Loss
from maxmargin.solvers.auto import Auto
from maxmargin.solvers.method import Method
from maxmargin.solvers.methods import method_of


def narrow_method(
    solver: str | Method,
    kind: str,
    loss: Loss | None,
    *,
    penalize_bias: bool = True,
    dual: bool | str = "auto",
    shrinking: bool = True,
) -> Method:
    """The method for problems of a kind; what does not go together is an error that says what does.

    Examples
    --------
    >>> from maxmargin.problems.regression import regression_loss
    >>> from maxmargin.training.method_choice import narrow_method
    >>> narrow_method("auto", "regression", regression_loss("least_squares", 0.0), dual=False)
    Auto(dual=False, shrinking=True)
    """
    method = method_of(solver, kind, loss, penalize_bias)
    if isinstance(solver, str):
        method = method.with_shrinking(shrinking)
    elif not shrinking and method.options().get("shrinking"):
        raise ValueError(f"shrinking=False goes with the name of a solver; {type(solver).__name__} has its own option")
    if dual == "auto":
        return method
    if isinstance(method, Auto):
        if method.dual not in (None, bool(dual)):
            raise ValueError(f"dual={dual} contradicts solver={method}; use dual='auto', or change the object")
        return replace(method, dual=bool(dual))
    if method.is_dual is not bool(dual):
        side = "dual variables" if method.is_dual else "weights"
        raise ValueError(f"dual={dual} contradicts solver={solver!r}, which works on the {side}; use dual='auto'")
    return method
