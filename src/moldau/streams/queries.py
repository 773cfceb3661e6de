"""Divides a topology into Spark queries, and decides where it is cut.

One query writes one sink and computes all of its ancestors. Spark allows several stateful operators
in one query only if all of them run in append mode and propagate the event time; and a table that
is looked up must be in a topic. Everywhere else the topology is cut: a separate query writes the
rows of a stateful operator to an internal topic, and downstream queries read that topic, like the
repartition topics of Kafka Streams. A stream that becomes a table counts as such an operator: the
records of a key are in order only in a separate topic.

Rules this module keeps:

* The plan depends only on the topology, so that the same program finds its checkpoints again.
* Queries are in the order of the data flow: the writer of an internal topic precedes its readers.
* An operator is cut only once, however many queries read it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from moldau.spark.errors import PipelineError
from moldau.streams.cut_format import read_cut, write_cut
from moldau.streams.topology import (
    APPEND,
    READ_CUT,
    SUPPRESS,
    TO_TABLE,
    UPDATE,
    Node,
    NodeKind,
    Topology,
    with_ancestors,
)

_LEAVES = (NodeKind.SOURCE, NodeKind.TABLE)


@dataclass(frozen=True)
class Query:
    """A streaming query: from its sources to its sink, nodes parents first."""

    name: str
    sink: Node
    nodes: tuple[Node, ...]
    # Sources and tables, including the internal topics of other queries.
    sources: tuple[Node, ...]
    output_mode: str
    # The sink is an internal topic, where the topology was cut.
    is_cut: bool

    @property
    def by_clock(self) -> bool:
        """Whether it never ends by itself, because it has processing-time timers."""
        return any(node.by_clock for node in self.nodes)


@dataclass(frozen=True)
class _Running:
    """A stateful operator, or a node that counts as one, upstream in the same query."""

    operator: Node
    mode: str
    # Where the topology is cut if necessary: the operator, or its ``suppress``.
    cut_point: Node
    # The rows still have its event time.
    keeps_event_time: bool

    @property
    def may_be_followed(self) -> bool:
        return self.mode == APPEND and self.keeps_event_time


def plan_queries(topology: Topology, app_name: str) -> list[Query]:
    """The queries that compute ``topology``, in the order in which data flows.

    Raises:
        PipelineError: there is no sink, or a name is used twice.
    """
    plan = _Plan(app_name)
    for sink in topology.sinks():
        plan.add(sink, is_cut=False)
    if not plan.queries:
        raise PipelineError(
            f"{app_name} writes nothing: end a stream or a table with .to(topic), "
            "or use its .df in a query of your own"
        )
    return plan.queries


class _Plan:
    def __init__(self, app_name: str) -> None:
        self.queries: list[Query] = []
        self._app_name = app_name
        # By the id() of a node that is cut: the node that reads its topic.
        self._cuts: dict[int, Node] = {}

    def add(self, sink: Node, *, is_cut: bool) -> None:
        cut_points = _cut_points(sink)
        rewritten: dict[int, Node] = {}
        for node in _within(sink, cut_points):
            if id(node) in cut_points:
                rewritten[id(node)] = self._read(node)
            else:
                rewritten[id(node)] = _on(node, rewritten)
        new_sink = rewritten[id(sink)]
        nodes = tuple(with_ancestors([new_sink]))
        if any(query.name == new_sink.name for query in self.queries):
            raise PipelineError(f"two sinks are named {new_sink.name}: give one another name")
        modes = [running.mode for running in _stateful_modes(sink, cut_points)]
        self.queries.append(
            Query(
                name=new_sink.name,
                sink=new_sink,
                nodes=nodes,
                sources=tuple(node for node in nodes if node.kind in _LEAVES),
                output_mode=UPDATE if UPDATE in modes else APPEND,
                is_cut=is_cut,
            )
        )

    def _read(self, point: Node) -> Node:
        """The node that reads the internal topic of ``point``; plans the query that writes it."""
        if id(point) in self._cuts:
            return self._cuts[id(point)]
        topic = f"{self._app_name}-{point.name}"
        name = f"cut-{point.name}"
        self.add(
            Node(
                name,
                NodeKind.SINK,
                "cut",
                (point,),
                topic=topic,
                detail="internal",
                spark="writeStream",
                build=write_cut,
                is_table=point.is_table,
            ),
            is_cut=True,
        )
        writer = self.queries[-1].sink
        read = Node(
            f"read-{point.name}",
            NodeKind.TABLE if point.is_table else NodeKind.SOURCE,
            READ_CUT,
            topic=topic,
            detail="internal",
            spark="readStream",
            build=read_cut(writer.parents[0]),
            is_table=point.is_table,
        )
        self._cuts[id(point)] = read
        return read


def _on(node: Node, rewritten: dict[int, Node]) -> Node:
    """``node`` with its rewritten parents; unchanged if they are."""
    parents = tuple(rewritten[id(parent)] for parent in node.parents)
    if parents == node.parents:
        return node
    lookup = rewritten[id(node.lookup)] if node.lookup is not None else None
    return replace(node, parents=parents, lookup=lookup)


def _cut_points(sink: Node) -> set[int]:
    """The nodes upstream of ``sink`` at which its query is cut."""
    points: set[int] = set()
    while found := _conflict(sink, points):
        points.update(id(node) for node in found)
    return points


def _conflict(sink: Node, points: set[int]) -> list[Node]:
    """The first nodes that cannot be computed in the query of ``sink``, cut at ``points``."""
    modes: dict[int, str] = {}
    for one in _stateful_modes(sink, points):
        if modes.setdefault(id(one.operator), one.mode) != one.mode:
            # Needed both with every change and only when final: cut at the final one.
            return [_suppress_of(one.operator, sink, points)]
    above: dict[int, list[_Running]] = {}
    for node in _within(sink, points):
        if id(node) in points:
            above[id(node)] = []
            continue
        if node.lookup is not None and above[id(node.lookup)]:
            return [one.cut_point for one in above[id(node.lookup)]]
        running = _distinct(
            one for parent in node.parents if parent is not node.lookup for one in above[id(parent)]
        )
        if not _may_run_together(node, running, modes):
            return [one.cut_point for one in running]
        if node.kind is NodeKind.STATEFUL:
            running = [_Running(node, _mode(node, modes), node, node.chains)]
        elif node.operator == TO_TABLE:
            running = [_Running(node, UPDATE, node, keeps_event_time=False)]
        elif node.operator == SUPPRESS:
            running = [replace(one, cut_point=node) for one in running]
        elif len(node.parents) > (1 if node.lookup is None else 2):
            # Merged with other rows, whose event time Spark does not track in the same way.
            running = [replace(one, keeps_event_time=False) for one in running]
        above[id(node)] = running
    return []


def _may_run_together(node: Node, running: list[_Running], modes: dict[int, str]) -> bool:
    if node.kind is NodeKind.STATEFUL:
        may_follow = node.chains and _mode(node, modes) == APPEND
        return not running or (may_follow and all(one.may_be_followed for one in running))
    return len(running) < 2 or all(one.mode == APPEND for one in running)


def _mode(node: Node, modes: dict[int, str]) -> str:
    # A node that is only looked up has no requested mode: it will be cut, and uses its default.
    return modes.get(id(node), node.modes[0])


def _stateful_modes(sink: Node, points: set[int]) -> Iterator[_Running]:
    """Each stateful node of the query with its requested mode; twice if there are two."""
    seen: set[tuple[int, bool]] = set()
    waiting = [(sink, False)]
    while waiting:
        node, is_final = waiting.pop()
        if (id(node), is_final) in seen or id(node) in points:
            continue
        seen.add((id(node), is_final))
        if node.kind is NodeKind.STATEFUL:
            mode = APPEND if is_final and APPEND in node.modes else node.modes[0]
            yield _Running(node, mode, node, node.chains)
            is_final = False
        wants_final = is_final or node.operator == SUPPRESS
        waiting += [(parent, wants_final) for parent in node.parents if parent is not node.lookup]


def _within(sink: Node, points: set[int]) -> list[Node]:
    """The nodes of the query of ``sink``, parents first, starting at ``points``."""
    found: list[Node] = []
    seen: set[int] = set()

    def visit(node: Node) -> None:
        if id(node) in seen:
            return
        seen.add(id(node))
        if id(node) not in points:
            for parent in node.parents:
                visit(parent)
        found.append(node)

    visit(sink)
    return found


def _suppress_of(operator: Node, sink: Node, points: set[int]) -> Node:
    return next(
        node
        for node in _within(sink, points)
        if node.operator == SUPPRESS and operator in with_ancestors([node])
    )


def _distinct(running: Iterator[_Running]) -> list[_Running]:
    return list({(id(one.operator), id(one.cut_point)): one for one in running}.values())
