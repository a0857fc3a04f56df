"""The methods by name: what a text for ``solver`` stands for, and how methods are stored in model files."""

from __future__ import annotations

from typing import Any

from maxmargin.problems.losses import Loss
from maxmargin.solvers.active_set import ActiveSet
from maxmargin.solvers.auto import Auto
from maxmargin.solvers.cutting_plane import CuttingPlane
from maxmargin.solvers.dual_coordinate_descent import DualCoordinateDescent
from maxmargin.solvers.exponentiated_gradient import ExponentiatedGradient
from maxmargin.solvers.method import Method
from maxmargin.solvers.newton import Newton
from maxmargin.solvers.pegasos import Pegasos
from maxmargin.solvers.primal_coordinate_descent import PrimalCoordinateDescent
from maxmargin.solvers.sequential_dual import SequentialDual
from maxmargin.solvers.working_sets import WorkingSets

#: The methods by their short names.
SOLVERS: dict[str, Method] = {
    "auto": Auto(),
    "dcd": DualCoordinateDescent(),
    "avsf": DualCoordinateDescent(order="adaptive"),
    "online": DualCoordinateDescent(order="uniform"),
    "newton": Newton(),
    "pcd": PrimalCoordinateDescent(),
    "cutting_plane": CuttingPlane(),
    "pegasos": Pegasos(),
    "sdm": SequentialDual(),
    "eg": ExponentiatedGradient(),
    "working_sets": WorkingSets(),
    "active_set": ActiveSet(),
}
#: The classes of methods by name.
METHODS: dict[str, type[Method]] = {type(method).__name__: type(method) for method in SOLVERS.values()}


def solvers_for(kind: str, loss: Loss | None = None, penalize_bias: bool = True) -> list[str]:
    """The names of the methods that take such a problem."""
    return [name for name, method in SOLVERS.items() if method.refuses(kind, loss, penalize_bias) is None]


def method_of(solver: str | Method, kind: str, loss: Loss | None = None, penalize_bias: bool = True) -> Method:
    """The method that a name stands for, or the method itself; an error that says what would work if it does not."""
    method = SOLVERS.get(solver) if isinstance(solver, str) else solver
    if isinstance(method, Method):
        reason = method.refuses(kind, loss, penalize_bias)
        if reason is None:
            return method
    works = solvers_for(kind, loss, penalize_bias)
    if isinstance(method, Method):
        raise ValueError(f"solver={solver!r} does not take this problem: {reason}; choose from {works}")
    if isinstance(solver, str):
        raise ValueError(f"solver={solver!r} is unknown; choose from {works}")
    raise TypeError(f"solver must be a name or a method object, not {solver!r}; choose from {works}")


def method_to_json(method: Method) -> dict[str, Any]:
    """A method as plain data.

    Examples
    --------
    >>> from maxmargin import Pegasos
    >>> from maxmargin.solvers.methods import method_of_json, method_to_json
    >>> method_of_json(method_to_json(Pegasos(averaging=True)))
    Pegasos(averaging=True, projection=True)
    """
    return {"method": type(method).__name__, "options": method.options()}


def method_of_json(data: Any) -> Method:
    """The inverse of `method_to_json`, for data nobody vouches for; ``ValueError`` if they are no method."""
    if not isinstance(data, dict) or set(data) != {"method", "options"} or not isinstance(data["options"], dict):
        raise ValueError("it is not a method")
    name, options = data["method"], data["options"]
    if not isinstance(name, str) or name not in METHODS:
        raise ValueError(f"the method {str(name)[:60]!r} is unknown to this version")
    kind = METHODS[name]
    unknown = sorted(set(options) - set(kind().options()))
    if unknown:
        raise ValueError(f"{name} has no option {unknown[0][:60]!r} in this version")
    if not all(value is None or isinstance(value, (bool, int, float, str)) for value in options.values()):
        raise ValueError(f"the options of {name} are not plain values")
    try:
        return kind(**options)
    except TypeError as error:
        raise ValueError(f"the options of {name} are not what they must be ({error})") from error
