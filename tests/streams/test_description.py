"""A topology as text and as a graph."""

from moldau.streams.description import describe_queries, dot_graph
from moldau.streams.queries import Query
from moldau.streams.topology import Node, NodeKind


def enrichment() -> list[Query]:
    orders = Node(
        "source-1",
        NodeKind.SOURCE,
        "source",
        topic="orders",
        detail="value json",
        spark="readStream",
    )
    customers = Node("table-1", NodeKind.TABLE, "table", topic="customers", spark="read")
    join = Node(
        "join-1",
        NodeKind.STATELESS,
        "join",
        (orders, customers),
        lookup=customers,
        spark="join",
    )
    count = Node("count-1", NodeKind.STATEFUL, "count", (join,), detail='by "city"', spark="count")
    cut = Node("cut-count-1", NodeKind.SINK, "cut", (count,), topic="shop-count-1")
    read = Node("read-count-1", NodeKind.TABLE, "read", topic="shop-count-1")
    sink = Node("to-1", NodeKind.SINK, "to", (read,), topic="cities", spark="writeStream")
    first = (orders, customers, join, count, cut)
    return [
        Query("cut-count-1", cut, first, (orders, customers), "update", is_cut=True),
        Query("to-1", sink, (read, sink), (read,), "append", is_cut=False),
    ]


def test_the_text_shows_every_query_with_its_operators() -> None:
    assert describe_queries("shop", enrichment()) == "\n".join(
        [
            "app shop: 2 queries, 1 internal topic",
            "",
            "query cut-count-1: customers, orders → shop-count-1, internal",
            "  OPERATOR     FROM                           WHAT                      IN SPARK",
            "  source-1     -                              topic orders, value json  readStream",
            "  table-1      -                              topic customers           read",
            "  join-1       source-1, table-1 (looked up)  -                         join",
            '  count-1      join-1                         by "city", keeps state    count',
            "  cut-count-1  count-1                        topic shop-count-1        -",
            "",
            "query to-1: shop-count-1 → cities",
            "  OPERATOR      FROM          WHAT                IN SPARK",
            "  read-count-1  -             topic shop-count-1  -",
            "  to-1          read-count-1  topic cities        writeStream",
        ]
    )


def test_the_graph_joins_the_queries_at_their_topics() -> None:
    graph = dot_graph("shop", enrichment())
    assert graph.startswith('digraph "shop" {\n')
    assert graph.endswith("\n}")
    assert graph.count("{") == graph.count("}") == 3
    assert '"topic shop-count-1" [label="shop-count-1", shape=cylinder, style=dashed];' in graph
    assert '"cut-count-1/cut-count-1" -> "topic shop-count-1";' in graph
    assert '"topic shop-count-1" -> "to-1/read-count-1";' in graph
    assert '"cut-count-1/table-1" -> "cut-count-1/join-1" [style=dashed];' in graph
    assert r'[label="count-1\nby \"city\"", shape=box3d]' in graph
