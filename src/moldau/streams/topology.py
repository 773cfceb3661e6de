"""The graph of an application's operators, independent of a running Spark.

Every operator adds a node with its parents, its name, and a function that computes its DataFrame
from those of its parents. That function is called only when a query is compiled, so a topology can
be built, described and cut into queries on a machine without Java.

A node's rows have the columns ``key``, ``value`` and ``timestamp``, those of a windowed table also
``window``. They have ``headers`` and ``offset`` if these come from a topic and are still valid.

Rules this module keeps:

* A node is immutable and comes after its parents in ``Topology.nodes``.
* Names are unique. Generated names are numbered per operator (``filter-2`` is the second filter),
  so that a new filter does not change the names, and with them the checkpoints, of other operators.
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

# Names become parts of topic names and directories.
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
    # For a source, a table and a sink.
    topic: str | None = None
    # The operator's parameters, for display: "within 5 minutes", "value json".
    detail: str = ""
    # The Spark operations that it becomes, for display.
    spark: str = ""
    build: Build | None = None
    # For a stateful node: the output modes it supports, the default first.
    modes: tuple[str, ...] = ()
    # In append mode it may follow another such node in the same query: its input and its output
    # have the event time that Spark's watermark is based on.
    chains: bool = False
    # The parent that is not streamed but looked up: its latest value per key.
    lookup: "Node | None" = None
    # Its timers use processing time, so that Spark's query never ends by itself.
    by_clock: bool = False
    # Its rows are the changes of a table, by key; a null value is a deletion. A topic for them is
    # compacted.
    is_table: bool = False
    # For a source, a table and a sink of a user's topic.
    key_serde: "Serde | None" = None
    value_serde: "Serde | None" = None

    @property
    def is_internal(self) -> bool:
        """Whether it reads an internal topic, where the topology was cut."""
        return self.operator == READ_CUT


class Topology:
    """All nodes of an application, parents first."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        # The inputs for ``df`` of a stream; set by the application.
        self.inputs: Callable[[], Inputs] | None = None
        self._names: set[str] = set()
        self._counts: dict[str, int] = {}

    def add(
        self, kind: NodeKind, operator: str, *parents: Node, name: str | None = None, **fields: Any
    ) -> Node:
        """Add a node with the ``fields`` of ``Node``, and return it.

        Without a ``name`` a node with a topic is named after it (``to-orders``), others are
        numbered.

        Raises:
            PipelineError: the name is taken, or cannot be part of a topic name.
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
    """``nodes`` and all of their ancestors, each once, parents first."""
    seen: set[int] = set()
    return [found for node in nodes for found in _parents_first(node, seen)]


def _parents_first(node: Node, seen: set[int]) -> Iterator[Node]:
    if id(node) in seen:
        return
    seen.add(id(node))
    for parent in node.parents:
        yield from _parents_first(parent, seen)
    yield node
