"""Methods by rounds: rows lie in blocks, and a method only sends weights to blocks and gets back sums over them.

A method is a generator. It yields a `Request`, a function for blocks and what it needs to know, and is sent the sum of
what the blocks answered. Functions are pure: what a block answers depends on the block, its state and the request, so
that a block which is lost can be computed again, anywhere, to the same bits. Sums are taken along a tree whose shape
depends on the number of blocks alone, so that the bits do not depend on who computes what when.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

from maxmargin.solvers.block import Block

#: What blocks answer: numbers and arrays, which are added up, and lists, which are strung together.
Summary = dict[str, Any]

#: What a block knows of each problem, by its number.
States = dict[int, Any]
#: How many answers are added up by one task.
FAN_IN = 8


@dataclass(frozen=True)
class Request:
    """What a method asks of every block.

    Parameters
    ----------
    function : callable
        ``function(part, state, message) -> (state, summary)``: the block as a part of one problem, the state that the
        last request left, and the message.
    message : object
        Whatever the function needs to know.
    fresh : bool
        Whether the function does not look at the state. What is lost is then made again without what came before.
    keeps : bool
        Whether the function leaves the state as it is.
    """

    function: Callable[[Any, Any, Any], tuple[Any, Summary]]
    message: Any
    fresh: bool = False
    keeps: bool = False


#: The requests of one round, by the number of the problem they belong to.
Requests = dict[int, Request]
#: A method: yields requests, is sent sums over all blocks, and returns what it found.
RoundMethod = Generator[Request, Summary, Any]


def answer(block: Block, states: States | None, requests: Requests) -> tuple[States, dict[int, Summary]]:
    """What one block makes of the requests of a round: its new states, and its answers."""
    after: States = dict(states or {})
    answers: dict[int, Summary] = {}
    for number, request in requests.items():
        after[number], answers[number] = request.function(block.part(number), after.get(number), request.message)
    return after, answers


def add_answers(answers: Sequence[dict[int, Summary]]) -> dict[int, Summary]:
    """The sum of some answers, in order."""
    return {number: reduce(_add, (each[number] for each in answers)) for number in answers[0]}


def _add(a: Summary, b: Summary) -> Summary:
    return {name: a[name] + b[name] for name in a}


class Blocks(Protocol):
    """Blocks somewhere, with the states of all problems."""

    def ask(self, requests: Requests) -> dict[int, Summary]:
        """One round: every block answers, and the answers are added up."""


class LocalBlocks:
    """Blocks in this process.

    Parameters
    ----------
    blocks : list of Block
        The data.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin.solvers.block import Block, Learning
    >>> from maxmargin.solvers.rounds import LocalBlocks, Request
    >>> learning = Learning.of_classes(np.array([0, 1]), C=1.0, loss="hinge", bias=0.0)
    >>> blocks = [Block(np.eye(2), np.array([0, 1])).bind(learning) for _ in range(3)]
    >>> def count(part, state, message):
    ...     return state, {"rows": len(part.C)}
    >>> LocalBlocks(blocks).ask({0: Request(count, None)})
    {0: {'rows': 6}}
    """

    def __init__(self, blocks: list[Block]) -> None:
        self.blocks = blocks
        self.states: list[States | None] = [None] * len(blocks)

    def ask(self, requests: Requests) -> dict[int, Summary]:
        """One round."""
        results = [answer(block, state, requests) for block, state in zip(self.blocks, self.states, strict=True)]
        self.states = [state for state, _ in results]
        level = [answers for _, answers in results]
        while len(level) > 1:
            level = [add_answers(level[k : k + FAN_IN]) for k in range(0, len(level), FAN_IN)]
        return level[0]


def run_methods(methods: list[RoundMethod], blocks: Blocks) -> list[Any]:
    """Run several methods side by side: each round serves all that have not ended. What they return, in order."""
    requests: Requests = {}
    found: list[Any] = [None] * len(methods)

    def advance(number: int, summary: Summary | None) -> None:
        try:
            requests[number] = next(methods[number]) if summary is None else methods[number].send(summary)
        except StopIteration as end:
            requests.pop(number, None)
            found[number] = end.value

    for number in range(len(methods)):
        advance(number, None)
    while requests:
        for number, summary in blocks.ask(dict(requests)).items():
            advance(number, summary)
    return found
