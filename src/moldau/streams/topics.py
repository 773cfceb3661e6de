"""The topics that an app needs, and the creation of those that are missing.

A topic that the app writes gets as many partitions as the largest of its inputs, to keep the
parallelism, and is compacted if it contains a table. A topic that the app only reads belongs to
someone else: it is an error if it does not exist.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from moldau.client.admin import Admin
from moldau.errors import ApiError, ErrorCode
from moldau.spark.batch_ledger import LEDGER_CONFIGS
from moldau.spark.errors import PipelineError
from moldau.streams.queries import Query
from moldau.streams.topology import Node, NodeKind

_COMPACTED: Final = {"cleanup.policy": "compact"}
_LEDGER: Final = "-batches"


class NewTopic(NamedTuple):
    """A topic to be created."""

    name: str
    partitions: int
    is_compacted: bool
    is_ledger: bool = False

    @property
    def configs(self) -> dict[str, str]:
        if self.is_ledger:
            return dict(LEDGER_CONFIGS)
        return dict(_COMPACTED) if self.is_compacted else {}


def plan_topics(
    queries: Sequence[Query], partitions: Mapping[str, int], *, with_ledgers: bool = False
) -> list[NewTopic]:
    """The topics to create before the queries start; ``partitions`` are those of existing topics.

    ``with_ledgers`` plans the ledger of each internal topic as well (``spark.batch_ledger``).

    Raises:
        PipelineError: a topic that is read does not exist, and no query writes it; or the name of
            a ledger is taken.
    """
    written = {topic_of(query) for query in queries}
    for query in queries:
        for topic in source_topics(query):
            if topic not in partitions and topic not in written:
                raise PipelineError(
                    f"topic {topic} does not exist, which {query.name} reads: "
                    f"moldau topics create {topic}"
                )
    known = dict(partitions)
    new: list[NewTopic] = []
    waiting = [query for query in queries if topic_of(query) not in known]
    while waiting:
        # One whose inputs are all known; in a cycle of topics, the first one.
        query = next((each for each in waiting if known.keys() >= source_topics(each)), waiting[0])
        widest = max((known[each] for each in source_topics(query) if each in known), default=1)
        name = topic_of(query)
        new.append(NewTopic(name, widest, query.sink.is_table))
        known[name] = widest
        waiting = [each for each in waiting if topic_of(each) not in known]
    if with_ledgers:
        new += _plan_ledgers(queries, known)
    return new


def _plan_ledgers(queries: Sequence[Query], known: Mapping[str, int]) -> list[NewTopic]:
    ledgers = [ledger_of(topic_of(each)) for each in queries if each.is_cut]
    used = {topic for each in queries for topic in (topic_of(each), *source_topics(each))}
    for name in ledgers:
        if name in used:
            raise PipelineError(
                f"topic {name} is the ledger of an internal topic: give the operator or the topic "
                "of that name another one"
            )
    return [NewTopic(name, 1, True, is_ledger=True) for name in ledgers if name not in known]


def create_topics(
    admin: Admin, queries: Sequence[Query], *, with_ledgers: bool = False
) -> list[NewTopic]:
    """Create the topics that are missing on the cluster, and return those created.

    Raises:
        PipelineError: as ``plan_topics``.
        ApiError: a topic cannot be created.
    """
    existing = {each.name: len(each.partitions) for each in admin.list_topics()}
    made = []
    for topic in plan_topics(queries, existing, with_ledgers=with_ledgers):
        try:
            admin.create_topic(topic.name, topic.partitions, configs=topic.configs)
        except ApiError as error:
            # Someone else has created it, perhaps another app that also writes it.
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        else:
            made.append(topic)
    return made


def topic_of(query: Query) -> str:
    """The topic that a query writes."""
    assert query.sink.topic is not None, f"{query.sink.name} is a sink without a topic"
    return query.sink.topic


def ledger_of(topic: str) -> str:
    """The topic of the ledger of an internal topic."""
    return f"{topic}{_LEDGER}"


def group_of(app: str, query: Query) -> str:
    """The consumer group that shows the progress of a query in ``moldau groups``."""
    return f"{app}-{query.name}"


def source_topics(query: Query) -> set[str]:
    """The topics that a query reads."""
    return {each.topic for each in query.sources if each.topic is not None}


def streamed_topics(query: Query) -> set[str]:
    """The topics that a query streams; not those it only looks up, which have no position."""
    found: set[str] = set()
    waiting: list[Node] = [query.sink]
    while waiting:
        node = waiting.pop()
        if node.kind in (NodeKind.SOURCE, NodeKind.TABLE) and node.topic is not None:
            found.add(node.topic)
        waiting += [parent for parent in node.parents if parent is not node.lookup]
    return found


def upstream_first(queries: Sequence[Query]) -> list[Query]:
    """Sort by the flow of data from topic to topic; queries in a cycle keep their order."""
    ordered: list[Query] = []
    waiting = list(queries)
    while waiting:
        unwritten = {topic_of(each) for each in waiting}
        ready = next(
            (each for each in waiting if not source_topics(each) & (unwritten - {topic_of(each)})),
            waiting[0],
        )
        ordered.append(ready)
        waiting.remove(ready)
    return ordered
