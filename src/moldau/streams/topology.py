"""What an application computes, as a graph that knows nothing of a running Spark.

Every operator adds a node that knows its parents, what to call itself, and how to turn the
DataFrames of its parents into its own. Nothing is turned until a query is compiled, so a topology
is built, described and cut into queries on a machine without Java.

A node's rows have the columns ``key``, ``value`` and ``timestamp``; those of a windowed table also
``window``; ``headers`` and ``offset`` are there where they came from a topic and nothing changed
what they stand for.

Rules kept here:

* A node is immutable and comes after its parents in ``Topology.nodes``.
* Names are unique. Those that are made up count per operator (``filter-2`` is the second filter),
  so that a new filter leaves the names, and with them the checkpoints, of other operators alone.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from moldau.streams.compiling import Inputs
    from moldau.streams.serdes import Serde

# Takes a ``Compilation`` and the parents' DataFrames, in their order.
Build = Callable[..., "DataFrame"]

APPEND: Final = "append"
UPDATE: Final = "update"

# Operators that decide where a topology is cut (``queries``).
SUPPRESS: Final = "suppress"
TO_TABLE: Final = "to_table"
# Reads the internal topic of a cut.
READ_CUT: Final = "read"

# Names become parts of topics and of directories.
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")


class NodeKind(Enum):
    """How a node gets its rows."""

    SOURCE = "source"
    # A compacted topic as the latest value per key.
    TABLE = "table"
    STATELESS = "stateless"
    STATEFUL = "stateful"
    SINK = "sink"


@dataclass(frozen=True, eq=False)
class Node:
    """One operator of a topology."""

    name: str
    kind: NodeKind
    operator: str
    parents: tuple["Node", ...] = ()
    # Of a source, a table and a sink.
    topic: str | None = None
    # What the user asked for, for people to read: "within 5 minutes", "value json".
    detail: str = ""
    # What it becomes in Spark, for people to read.
    spark: str = ""
    build: Build | None = None
    # Of a stateful node: the output modes it can run in, the usual one first.
    modes: tuple[str, ...] = ()
    # In append mode it may follow another of its kind in the same query: what it reads and what it
    # gives carries the event time that Spark's watermark goes by.
    chains: bool = False
    # The parent that is not streamed but looked up: its latest value per key.
    lookup: "Node | None" = None
    # Its timers go by the clock, so that Spark never calls its query done.
    by_clock: bool = False
    # Its rows are the changes of a table, by key, a null value being a deletion. A topic that
    # holds them is compacted.
    is_table: bool = False
    # Of a source, a table and a sink, where the topic is the user's.
    key_serde: "Serde | None" = None
    value_serde: "Serde | None" = None

    @property
    def is_internal(self) -> bool:
        """It reads an internal topic, where the topology was cut."""
        return self.operator == READ_CUT


class Topology:
    """All nodes of an application, parents first."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        # Where ``df`` of a stream reads from; set by who runs the application.
        self.inputs: Callable[[], Inputs] | None = None
        self._names: set[str] = set()
        self._counts: dict[str, int] = {}

    def add(
        self, kind: NodeKind, operator: str, *parents: Node, name: str | None = None, **fields: Any
    ) -> Node:
        """A new node with the ``fields`` of ``Node``, named as the user says.

        Without a name a node that has a topic is named by it (``to-orders``), others are counted.

        Raises:
            PipelineError: the name is taken, or cannot be part of a topic's.
        """
        topic = fields.get("topic")
        chosen = self._given(name) if name is not None else self._made_up(operator, topic)
        self._names.add(chosen)
        node = Node(chosen, kind, operator, parents, **fields)
        self.nodes.append(node)
        return node

    def sinks(self) -> list[Node]:
        return [node for node in self.nodes if node.kind is NodeKind.SINK]

    def _given(self, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise PipelineError(
                f"the name {name!r} has other characters than letters, digits and . _ -"
            )
        if name in self._names:
            raise PipelineError(f"two operators are named {name}: give one another name")
        return name

    def _made_up(self, operator: str, topic: str | None) -> str:
        if topic is not None and (of_topic := f"{operator}-{topic}") not in self._names:
            return of_topic
        base = operator if topic is None else f"{operator}-{topic}"
        while True:
            number = self._counts.get(base, 0 if topic is None else 1) + 1
            self._counts[base] = number
            if (counted := f"{base}-{number}") not in self._names:
                return counted


def with_ancestors(nodes: Iterable[Node]) -> list[Node]:
    """``nodes`` and all that they stand on, each once, parents first."""
    seen: set[int] = set()
    return [found for node in nodes for found in _parents_first(node, seen)]


def _parents_first(node: Node, seen: set[int]) -> Iterator[Node]:
    if id(node) in seen:
        return
    seen.add(id(node))
    for parent in node.parents:
        yield from _parents_first(parent, seen)
    yield node
