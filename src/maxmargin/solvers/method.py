"""What a method is: a small immutable object with its own options, which says what it takes and runs its C++ part."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from maxmargin import _core
from maxmargin.problems.losses import LOSSES, REGRESSION_LOSSES, Loss

if TYPE_CHECKING:
    from maxmargin.solvers.run import Run

#: What an exit of the core means to the caller of ``solve``.
Exit = _core.Exit


class Stage(NamedTuple):
    """One method at work on a problem, and its own limits: arguments of its ``run`` by name."""

    method: Method
    limits: Mapping[str, Any] = MappingProxyType({})


#: Stages one after the other, each chosen when it is known how the one before ended.
Plan = Generator[Stage, Exit, None]


@dataclass(frozen=True)
class Method:
    """A way to solve problems.

    A subclass states in its class variables what it takes, has its options as fields, and runs one stage of a fit in
    ``run``. One that leaves work to other methods says so in its ``plan``. Methods are compared, copied and stored by
    their options.

    Examples
    --------
    >>> from maxmargin import DualCoordinateDescent
    >>> DualCoordinateDescent(shrinking=False) == DualCoordinateDescent(shrinking=False)
    True
    >>> DualCoordinateDescent().refuses("ranking")
    "it solves binary problems with penalty='l2' and regression and one-class problems"
    """

    #: The kinds of problems it takes: "binary", "l1", "regression", "one_class", "crammer_singer",
    #: "weston_watkins", "ranking".
    kinds: ClassVar[tuple[str, ...]] = ("binary",)
    #: The losses of binary problems and of regression it takes.
    losses: ClassVar[tuple[str, ...]] = (*LOSSES, *REGRESSION_LOSSES)
    #: Whether it takes a bias outside the regulariser.
    takes_free_bias: ClassVar[bool] = True
    #: Whether it works on the dual variables; the others work on the weights. None is both.
    is_dual: ClassVar[bool | None] = True

    @property
    def name(self) -> str:
        """The name under which its reports appear."""
        raise NotImplementedError

    def plan(self, problem: Any, state: Any, run: Run) -> Plan:  # noqa: ARG002
        """The stages of a fit; by default the method itself, once."""
        yield Stage(self)

    def state(self, problem: Any, start: Any) -> Any:
        """The problem as the core solves it by this method, from what is known of a solution."""
        return problem.start(start)

    def run(self, problem: Any, state: Any, run: Run) -> Exit:
        """Improve the bounds of ``state`` until they are within the tolerance or a limit is met."""
        raise NotImplementedError

    def refuses(self, kind: str, loss: Loss | None = None, penalize_bias: bool = True) -> str | None:
        """Why it does not take such a problem; None if it does. Only problems of one score per row have a loss."""
        if kind not in self.kinds:
            return f"it solves {' and '.join(_KINDS[kind] for kind in self.kinds)}"
        family = REGRESSION_LOSSES if kind == "regression" else LOSSES
        names = [name for name in self.losses if name in family]
        if loss is not None and not any(loss.is_like(family[name], with_tube=False) for name in names):
            return f"it works with {' or '.join(f'loss={name!r}' for name in names)} only, not with {loss.name!r}"
        if not penalize_bias and not self.takes_free_bias:
            return "it knows no intercept outside the regulariser"
        return None

    def options(self) -> dict[str, Any]:
        """Its options by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def with_shrinking(self, shrinking: bool) -> Method:
        """The same with or without shrinking, if it knows any."""
        options = self.options()
        return type(self)(**{**options, "shrinking": shrinking}) if "shrinking" in options else self


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Refuse an option that is not one of some words."""
    if value not in choices:
        raise ValueError(f"{name}={value!r} is unknown; choose from {list(choices)}")


def check_flags(method: Method, *names: str) -> None:
    """Refuse options that are neither true nor false."""
    for name in names:
        if not isinstance(getattr(method, name), bool):
            raise ValueError(f"{name} must be True or False, not {getattr(method, name)!r}")


def is_number(value: Any) -> bool:
    """Whether an option is a finite number; true and false are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")


def check_epsilon(epsilon: Any) -> None:
    """Refuse a stopping value of a paper that is no positive number."""
    if epsilon is not None and not (is_number(epsilon) and epsilon > 0):
        raise ValueError(f"epsilon must be a positive number or None, not {epsilon!r}")


_KINDS = {
    "binary": "binary problems with penalty='l2'",
    "l1": "binary problems with penalty='l1'",
    "regression": "regression",
    "one_class": "one-class problems",
    "crammer_singer": "problems of Crammer & Singer",
    "weston_watkins": "problems of Weston & Watkins",
    "ranking": "ranking problems",
    "measure": "problems with a measure",
}
