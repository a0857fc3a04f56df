"""Blocks on a Dask cluster: every round is a graph of pure tasks, and the scheduler does the rest.

A block, the requests of a round and the state of a block are results of tasks. When a worker is lost, the scheduler
computes them again from what they depend on, to the same bits. Answers are added up by tasks, along a tree whose shape
depends on the number of blocks alone.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any

import dask
from distributed import Client, Future, KilledWorker, default_client
from distributed.comm import CommClosedError

from maxmargin.solvers.block import Block, Learning
from maxmargin.solvers.rounds import FAN_IN, Requests, Summary, add_answers, answer


class ClusterError(RuntimeError):
    """The cluster could not do the work; the message says what to do."""


def current_client() -> Client:
    """The client of this process."""
    try:
        return default_client()
    except ValueError as error:
        raise ValueError(
            "there is no Dask client; make one first: from dask.distributed import Client; client = Client() starts "
            "workers on this machine, Client('tcp://host:8786') joins a cluster"
        ) from error


class DaskBlocks:
    """Blocks on a cluster, as a context manager: at its end nothing is left running.

    Parameters
    ----------
    delayed : list of Delayed
        Tasks that make the blocks.
    client : Client
        The cluster.
    """

    def __init__(self, delayed: Sequence[Any], client: Client) -> None:
        self.client = client
        self.name = f"maxmargin-{uuid.uuid4().hex[:12]}"
        self.tasks = 0
        self.blocks: list[Future] = client.compute(list(delayed))
        self.states: list[Future | None] = [None] * len(self.blocks)
        self.working: list[Future] = []
        self.problems: set[int] = set()

    def __enter__(self) -> DaskBlocks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        futures = [*self.blocks, *(state for state in self.states if state is not None), *self.working]
        if kind is not None and self.client.status == "running":
            self.client.cancel(futures)
        self.blocks, self.states, self.working = [], [], []

    def __len__(self) -> int:
        return len(self.blocks)

    def each(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Replace every block by what a function makes of it."""
        common = [self._submit(_same, argument) for argument in arguments]
        self.blocks = [self._submit(function, block, *common) for block in self.blocks]

    def bind(self, learning: Learning, scales: Any) -> None:
        """Tell all blocks what is learned."""
        self.each(Block.bind, learning, scales)

    def total(self, function: Callable[..., Summary], *arguments: Any, with_states: bool = False) -> Summary:
        """The sum of what a function says of each block."""
        common = [self._submit(_same, argument) for argument in arguments]
        level = [
            self._submit(_numbered, function, block, *([state] if with_states else []), *common)
            for block, state in zip(self.blocks, self.states, strict=True)
        ]
        return self._sum(level)[0]

    def ask(self, requests: Requests) -> dict[int, Summary]:
        """One round."""
        common = self._submit(_same, requests)
        self.problems |= requests.keys()
        # The states of problems that have ended are still needed.
        fresh = self.problems == requests.keys() and all(request.fresh for request in requests.values())
        states = [None] * len(self.blocks) if fresh else self.states
        if all(request.keeps for request in requests.values()):
            pairs = zip(self.blocks, states, strict=True)
            return self._sum([self._submit(_answers, block, state, common) for block, state in pairs])
        results = [self._submit(answer, *pair, common) for pair in zip(self.blocks, states, strict=True)]
        self.states = [self._submit(_first, result) for result in results]
        return self._sum([self._submit(_second, result) for result in results])

    def _sum(self, level: list[Future]) -> dict[int, Summary]:
        while len(level) > 1:
            level = [self._submit(_add_list, *level[k : k + FAN_IN]) for k in range(0, len(level), FAN_IN)]
        self.working = level
        try:
            result: dict[int, Summary] = level[0].result()
        except KilledWorker as error:
            raise ClusterError(
                f"workers died again and again over the same block ({error}); most likely a block does not fit into "
                "their memory: use smaller blocks (X.rechunk, repartition), or workers with fewer threads"
            ) from error
        except (CancelledError, CommClosedError, OSError, TimeoutError) as error:
            raise ClusterError(
                f"the Dask scheduler went away or dropped the work of this fit ({type(error).__name__}: {error}); "
                "connect a new Client and fit again"
            ) from error
        self.working = []
        return result

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future:
        self.tasks += 1
        key = f"{self.name}-{function.__name__}-{self.tasks}"
        # A message of many features is larger than what Dask takes for an accident.
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1GB"}):
            return self.client.submit(function, *arguments, key=key)


def _same(value: Any) -> Any:
    return value


def _first(pair: tuple[Any, Any]) -> Any:
    return pair[0]


def _second(pair: tuple[Any, Any]) -> Any:
    return pair[1]


def _answers(block: Block, states: dict[int, Any] | None, requests: Requests) -> dict[int, Summary]:
    return answer(block, states, requests)[1]


def _numbered(function: Callable[..., Summary], block: Block, *others: Any) -> dict[int, Summary]:
    return {0: function(block, *others)}


def _add_list(*answers: dict[int, Summary]) -> dict[int, Summary]:
    return add_answers(answers)
