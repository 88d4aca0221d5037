"""How many workers each node of a Ray cluster gets, and what part of the node each of them takes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CORES = 8  # of one worker, at most: the threads of one process share what Python locks
SMALLEST = 10_000  # parts of a core, or of anything else, are what Ray counts in


@dataclass(frozen=True)
class Node:
    """A machine of the cluster, with what Ray may give away there.

    Attributes:
        id: Ray's.
        host: the machine's name.
        cpus, gpus: how many it has for work, whether or not others use them now.
    """

    id: str
    host: str
    cpus: float
    gpus: float

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Node:
        """One entry of `ray.nodes()`."""
        has = told["Resources"]
        return cls(told["NodeID"], told["NodeManagerHostname"], has.get("CPU", 0.0), has.get("GPU", 0.0))


@dataclass(frozen=True)
class Share:
    """What one worker takes of the node."""

    node: Node
    cpus: float
    gpus: float = 0.0


def shares(nodes: Sequence[Node], workers: int | None, *, on_gpus: bool) -> list[Share]:
    """The share of each worker: one a GPU, or one for at most eight cores.

    Args:
        nodes: where they may be.
        workers: how many in all, in proportion to what the nodes have, but no more than GPUs; default: as many as there
            is room for.
        on_gpus: whether they are to compute on GPUs; then only nodes that have some take part.

    Example:
        >>> small, large = Node("a", "small", 4, 0), Node("b", "large", 16, 0)
        >>> [(share.node.host, share.cpus) for share in shares([small, large], None, on_gpus=False)]
        [('small', 4.0), ('large', 8.0), ('large', 8.0)]
        >>> [(share.node.host, share.cpus) for share in shares([small, large], 5, on_gpus=False)]
        [('small', 4.0), ('large', 4.0), ('large', 4.0), ('large', 4.0), ('large', 4.0)]
    """
    able = [node for node in nodes if (node.gpus >= 1 if on_gpus else node.cpus > 0)]
    counts = [_room(node, on_gpus) for node in able] if workers is None else _dealt(able, workers, on_gpus)
    return [share for node, count in zip(able, counts, strict=True) for share in _parts(node, count, on_gpus)]


def _room(node: Node, on_gpus: bool) -> int:
    return int(node.gpus) if on_gpus else math.ceil(node.cpus / CORES)


def _dealt(nodes: Sequence[Node], workers: int, on_gpus: bool) -> list[int]:
    """How many workers each node gets: the next one goes where each is left the most."""
    counts, most = [0] * len(nodes), sum(int(node.gpus) for node in nodes) if on_gpus else workers
    for _ in range(min(workers, most) if nodes else 0):
        left = [(node.gpus if on_gpus else node.cpus) / (count + 1) for node, count in zip(nodes, counts, strict=True)]
        counts[left.index(max(left))] += 1
    return counts


def _parts(node: Node, count: int, on_gpus: bool) -> Iterator[Share]:
    """The node in `count` shares, of whole cores where there is one for each."""
    for number in range(count):
        least = math.floor(node.cpus / count * SMALLEST) / SMALLEST
        cpus = (node.cpus + number) // count if node.cpus >= count else least
        yield Share(node, float(cpus), float(on_gpus))
