"""The topics that an app needs: which are missing, and how they are made.

A topic that the app writes gets as many partitions as the widest it is made from, so that what
was spread stays spread, and is compacted where it holds a table. A topic that the app only reads
is somebody else's: if it is not there, that is an error.
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
    """A topic to be made."""

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
    """What is to be made before the queries start; ``partitions`` are those of existing topics.

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
        # One whose inputs are all known; in a circle of topics, whichever comes first.
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
    """Make what is missing on the cluster, and give what was made.

    Raises:
        PipelineError: as ``plan_topics``.
        ApiError: a topic cannot be made.
    """
    existing = {each.name: len(each.partitions) for each in admin.list_topics()}
    made = []
    for topic in plan_topics(queries, existing, with_ledgers=with_ledgers):
        try:
            admin.create_topic(topic.name, topic.partitions, configs=topic.configs)
        except ApiError as error:
            # Somebody else was faster, perhaps another app that writes there as well.
            if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
                raise
        else:
            made.append(topic)
    return made


def topic_of(query: Query) -> str:
    """Where a query writes."""
    assert query.sink.topic is not None, f"{query.sink.name} is a sink without a topic"
    return query.sink.topic


def ledger_of(topic: str) -> str:
    """The topic that says which records of an internal topic count."""
    return f"{topic}{_LEDGER}"


def group_of(app: str, query: Query) -> str:
    """The consumer group under which the progress of a query shows in ``moldau groups``."""
    return f"{app}-{query.name}"


def source_topics(query: Query) -> set[str]:
    """What a query reads."""
    return {each.topic for each in query.sources if each.topic is not None}


def streamed_topics(query: Query) -> set[str]:
    """What a query reads record by record; not what it only looks up, which has no position."""
    found: set[str] = set()
    waiting: list[Node] = [query.sink]
    while waiting:
        node = waiting.pop()
        if node.kind in (NodeKind.SOURCE, NodeKind.TABLE) and node.topic is not None:
            found.add(node.topic)
        waiting += [parent for parent in node.parents if parent is not node.lookup]
    return found


def upstream_first(queries: Sequence[Query]) -> list[Query]:
    """In the order in which data flows from topic to topic; in a circle, as they came."""
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
