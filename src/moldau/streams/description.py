"""Describes a topology as text, and as a Graphviz graph. Pure, and without Spark.

It shows what will run: the queries, with the internal topics where the topology is cut, and the
Spark operations of each operator.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from moldau.streams.queries import Query
from moldau.streams.topics import source_topics, topic_of
from moldau.streams.topology import Node, NodeKind

_HEADER: Final = ("OPERATOR", "FROM", "WHAT", "IN SPARK")
_LEAVES: Final = (NodeKind.SOURCE, NodeKind.TABLE)
_SHAPES: Final = {
    NodeKind.SOURCE: "ellipse",
    NodeKind.TABLE: "ellipse",
    NodeKind.STATELESS: "box",
    NodeKind.STATEFUL: "box3d",
    NodeKind.SINK: "ellipse",
}


def describe_queries(app: str, queries: Sequence[Query]) -> str:
    """A paragraph for each query, in the order in which data flows."""
    internal = [topic_of(query) for query in queries if query.is_cut]
    words = [_count(len(queries), "query", "queries")]
    if internal:
        words.append(_count(len(internal), "internal topic", "internal topics"))
    return "\n".join([f"app {app}: {', '.join(words)}", *_paragraphs(queries)])


def _paragraphs(queries: Sequence[Query]) -> Iterator[str]:
    for query in queries:
        reads = ", ".join(sorted(source_topics(query)))
        kind = ", internal" if query.is_cut else ""
        yield ""
        yield f"query {query.name}: {reads} → {topic_of(query)}{kind}"
        rows = [_HEADER, *(_row(node) for node in query.nodes)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADER))]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  " + "  ".join(cells).rstrip()


def _row(node: Node) -> tuple[str, ...]:
    parents = [
        f"{each.name} (looked up)" if each is node.lookup else each.name for each in node.parents
    ]
    what = [f"topic {node.topic}"] if node.topic is not None else []
    if node.detail:
        what.append(node.detail)
    if node.kind is NodeKind.STATEFUL:
        what.append("keeps state")
    return node.name, ", ".join(parents) or "-", ", ".join(what) or "-", node.spark or "-"


def dot_graph(app: str, queries: Sequence[Query]) -> str:
    """The same for ``dot``: topics between boxes; each box is a query with its operators."""
    lines = [f"digraph {_quoted(app)} {{", "  rankdir=LR;", '  node [fontname="sans-serif"];']
    internal = {topic_of(query) for query in queries if query.is_cut}
    topics = sorted(set().union(*map(source_topics, queries), map(topic_of, queries)))
    for topic in topics:
        style = ", style=dashed" if topic in internal else ""
        lines.append(f"  {_topic(topic)} [label={_quoted(topic)}, shape=cylinder{style}];")
    for number, query in enumerate(queries):
        lines.append(f"  subgraph cluster_{number} {{")
        lines.append(f"    label={_quoted(f'query {query.name}')};")
        lines += [f"    {line}" for node in query.nodes for line in _node_lines(query, node)]
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _node_lines(query: Query, node: Node) -> Iterator[str]:
    label = f"{node.name}\n{node.detail}" if node.detail else node.name
    yield f"{_id(query, node)} [label={_quoted(label)}, shape={_SHAPES[node.kind]}];"
    for parent in node.parents:
        style = " [style=dashed]" if parent is node.lookup else ""
        yield f"{_id(query, parent)} -> {_id(query, node)}{style};"
    if node.topic is not None and node.kind in _LEAVES:
        yield f"{_topic(node.topic)} -> {_id(query, node)};"
    if node.topic is not None and node.kind is NodeKind.SINK:
        yield f"{_id(query, node)} -> {_topic(node.topic)};"


def _id(query: Query, node: Node) -> str:
    """Unique per query: an operator that two queries compute is drawn in both."""
    return _quoted(f"{query.name}/{node.name}")


def _topic(name: str) -> str:
    return _quoted(f"topic {name}")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
