"""What tools, brokers and odd clients ask about transactions is answered as by Apache Kafka.

Finding, listing and describing, in every version and with every filter; markers; requests that
name nothing, something twice or something internal; and the members of groups whose offsets
are committed.
"""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.list_transactions import ListTransactionsRequest
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.compat.broker_talk import Both, Side
from tests.compat.group_requests import join_request, joining_beat, subscription, sync_request
from tests.compat.test_transaction_answers import TRANSACTION, Life

INTERNAL = ("__consumer_offsets", "__transaction_state")


@pytest.fixture
def life(both: Both) -> Life:
    return Life(both)


# -- coordinators


@pytest.mark.parametrize("version", range(7))
def test_coordinators_are_found_alike(both: Both, life: Life, version: int) -> None:
    names = [life.name, "", " ", "a/b", "ž", "x" * 300]
    for key_type in (TRANSACTION, 3, -1, 99):
        if version == 0:
            # It knows groups only.
            _find_group(life, life.name)
            life.same(FindCoordinatorRequest(life.name), version)
        elif version >= 4:
            for keys in (names, [life.name, life.name], [""], []):
                life.same(FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys), version)
        else:
            for name in names:
                life.same(FindCoordinatorRequest(name, key_type), version)


# -- initializations


@pytest.mark.parametrize("version", range(6))
def test_ids_without_transactions_are_given_alike(life: Life, version: int) -> None:
    """Idempotent producers send no transactional id, but perhaps something else."""
    for timeout_ms in (0, -1, 1000, 2**31 - 1):
        life.same(InitProducerIdRequest(None, timeout_ms), version)
    if version >= 3:
        for producer in ((5, 5), (5, -1), (-1, 5), (0, 0), (-2, -2), (5, 32767)):
            life.same(InitProducerIdRequest(None, 1000, *producer), version)
            life.same(InitProducerIdRequest(life.name, 1000, *producer), version)
    if version >= 6:
        life.same(InitProducerIdRequest(life.name, 1000, enable2_pc=True), version)


@pytest.mark.parametrize("name", [" ", "a/b", "ž", "x" * 300], ids=["blank", "slash", "ž", "long"])
def test_odd_ids_live_alike(both: Both, name: str) -> None:
    life = Life(both)
    topic, life.name = life.name, f"{name}-{uuid.uuid4().hex[:8]}{name}"
    life.init()
    life.add(0, topic=topic)
    life.described()
    life.end()
    life.described()


# -- partitions


@pytest.mark.parametrize("topic", INTERNAL)
def test_internal_topics_are_added_alike(life: Life, topic: str) -> None:
    life.init()
    for version in range(6):
        life.add(0, version=version, topic=topic)
        life.add(0, 1000, version=version, topic=topic)
    life.verify(0)
    life.described()
    life.end(commit=False)
    life.described()


@pytest.mark.parametrize("version", range(6))
def test_requests_that_name_nothing_or_something_twice_are_answered_alike(
    life: Life, version: int
) -> None:
    life.init()
    one = AddPartitionsToTxnTopic(life.name, [0])
    for topics in (
        [],
        [AddPartitionsToTxnTopic(life.name, [])],
        [AddPartitionsToTxnTopic("", [0])],
        [AddPartitionsToTxnTopic("absent", [])],
        [AddPartitionsToTxnTopic(life.name, [-1])],
        [one, AddPartitionsToTxnTopic("absent", [0, 1])],
        [AddPartitionsToTxnTopic(life.name, [1, 1, 0])],
    ):
        life.same(lambda side, topics=topics: _add(life, side, version, topics), version)  # type: ignore[misc]
        life.described()
    # Of no transactions at all Apache Kafka is not asked: it never answers.
    life.end(commit=False)


def _add(
    life: Life, side: Side, version: int, topics: list[AddPartitionsToTxnTopic]
) -> AddPartitionsToTxnRequest:
    producer = life.producer(side)
    if version <= 3:
        return AddPartitionsToTxnRequest([], life.name, *producer, topics)
    return AddPartitionsToTxnRequest(
        [AddPartitionsToTxnTransaction(life.name, *producer, False, topics)]
    )


@pytest.mark.parametrize("version", [4, 5])
def test_brokers_ask_for_several_transactions_at_once_alike(both: Both, version: int) -> None:
    lives = [Life(both) for _ in range(3)]
    for life in lives:
        life.init()
    lives[0].add(0)

    def question(side: Side, verify_only: list[bool], *others: Any) -> AddPartitionsToTxnRequest:
        transactions = [
            AddPartitionsToTxnTransaction(
                life.name,
                *life.producer(side),
                verify,
                [AddPartitionsToTxnTopic(life.name, [0, 1])],
            )
            for life, verify in zip(lives, verify_only, strict=True)
        ]
        return AddPartitionsToTxnRequest([*transactions, *others])

    stranger = AddPartitionsToTxnTransaction(
        f"nobody-{uuid.uuid4()}", 1, 1, False, [AddPartitionsToTxnTopic(lives[0].name, [0])]
    )
    lives[0].same(lambda side: question(side, [True, True, True]), version)
    lives[0].same(lambda side: question(side, [True, False, True], stranger), version)
    for life in lives:
        life.described()
    lives[0].same(lambda side: question(side, [False, False, False], stranger), version)
    for life in lives:
        life.described()
        life.end(commit=False)


# -- offsets


def _commit(
    life: Life,
    side: Side,
    group: str,
    partitions: dict[str, list[TxnOffsetCommitRequestPartition]],
    **member: Any,
) -> TxnOffsetCommitRequest:
    topics = [TxnOffsetCommitRequestTopic(*each) for each in partitions.items()]
    return TxnOffsetCommitRequest(life.name, group, *life.producer(side), topics=topics, **member)


@pytest.mark.parametrize("version", range(6))
def test_odd_offsets_are_committed_and_refused_alike(life: Life, version: int) -> None:
    life.init()
    group = f"group-of-{life.name}"
    _find_group(life, group)
    life.same(lambda side: AddOffsetsToTxnRequest(life.name, *life.producer(side), group), 4)
    one = TxnOffsetCommitRequestPartition
    for places in (
        {},
        {life.name: []},
        {life.name: [one(0, -1)]},
        {life.name: [one(0, -5)]},
        {life.name: [one(0, 2**62)]},
        {life.name: [one(0, 1, committed_metadata=None), one(1, 1, committed_metadata="m")]},
        {life.name: [one(0, 1, committed_metadata="m" * 4097), one(1, 2)]},
        {life.name: [one(0, 1), one(0, 2)]},
        {INTERNAL[0]: [one(0, 1)], "": [one(0, 1)]},
        {life.name: [one(-1, 1), one(1, 1)], "absent": [one(0, 1)]},
    ):
        for name in (group, ""):
            life.same(
                lambda side, places=places, name=name: _commit(life, side, name, places),  # type: ignore[misc]
                version,
            )
    life.end(commit=False)


def _find_group(life: Life, group: str) -> None:
    for side in life.both.sides:
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
        side.wait_for(request, 6, lambda answer: not answer.coordinators[0].error_code)


@pytest.mark.parametrize("version", [4, 5])
def test_groups_with_odd_names_are_added_alike(life: Life, version: int) -> None:
    life.init()
    one = TxnOffsetCommitRequestPartition(0, 1)
    for group in ("", " ", "ž", "x" * 300):
        add = min(version, 4)
        life.same(
            lambda side, g=group: AddOffsetsToTxnRequest(life.name, *life.producer(side), g), add
        )  # type: ignore[misc]
        life.same(lambda side, g=group: _commit(life, side, g, {life.name: [one]}), version)  # type: ignore[misc]
    life.end(version, commit=False)


MEMBERS: list[dict[str, Any]] = [
    {},
    {"generation_id": 1},
    {"generation_id": 0},
    {"generation_id": 2},
    {"member_id": "nobody"},
    {"generation_id": 1, "member_id": "nobody"},
    {"generation_id": 1, "group_instance_id": "nobody"},
    {"group_instance_id": "i"},
]


def _assert_members_alike(life: Life, group: str, members: dict[Side, tuple[str, int]]) -> None:
    """Every stranger, and the member itself with its generation, the next and the last."""
    one = TxnOffsetCommitRequestPartition(0, 1)
    for version in (3, 4, 5):
        life.init()
        if version < 5:
            life.same(
                lambda side: AddOffsetsToTxnRequest(life.name, *life.producer(side), group), 4
            )
        cases: list[tuple[bool, dict[str, Any]]] = [(False, each) for each in MEMBERS]
        cases += [
            (True, {"off": off, "group_instance_id": instance})
            for off in (0, -1, 1)
            for instance in (None, "i", "nobody")
        ]
        for is_member, fields in cases:

            def question(side: Side, is_member: bool = is_member, fields: Any = fields) -> Any:
                said = dict(fields)
                if is_member:
                    said["member_id"], generation = members[side]
                    said["generation_id"] = generation + said.pop("off")
                return _commit(life, side, group, {life.name: [one]}, **said)

            life.same(question, version)
        life.end(5 if version == 5 else 4, commit=version == 4)


@pytest.mark.parametrize("instance", [None, "i"])
def test_members_of_classic_groups_are_checked_alike(life: Life, instance: str | None) -> None:
    group = f"classic-{life.name}"
    _find_group(life, group)
    members: dict[Side, tuple[str, int]] = {}
    for side in life.both.sides:
        fields = {"protocols": {"range": subscription(life.name)}, "group_instance_id": instance}
        answer = side.client.send(join_request(group, **fields), 9)
        if answer.error_code:
            answer = side.client.send(join_request(group, answer.member_id, **fields), 9)
        assert answer.error_code == 0
        members[side] = (answer.member_id, answer.generation_id)
        synced = sync_request(group, *members[side], {answer.member_id: b""})
        assert side.client.send(synced, 5).error_code == 0
    _assert_members_alike(life, group, members)


@pytest.mark.parametrize("instance", [None, "i"])
def test_members_of_consumer_groups_are_checked_alike(life: Life, instance: str | None) -> None:
    group = f"consumer-{life.name}"
    _find_group(life, group)
    members: dict[Side, tuple[str, int]] = {}
    for side in life.both.sides:
        beat = joining_beat(group, "m", [life.name], instance_id=instance)
        answer = side.wait_for(beat, 1, lambda found: not found.error_code)
        members[side] = ("m", answer.member_epoch)
    _assert_members_alike(life, group, members)


# -- markers and producers


@pytest.mark.parametrize("version", [1, 2])
def test_markers_are_written_alike(life: Life, version: int) -> None:
    topics = [
        [WritableTxnMarkerTopic(life.name, [0, 1, 7, -1])],
        [WritableTxnMarkerTopic("absent", [0]), WritableTxnMarkerTopic(life.name, [0])],
        [WritableTxnMarkerTopic("", [0])],
        [WritableTxnMarkerTopic("__transaction_state", [0])],
        [WritableTxnMarkerTopic("__consumer_offsets", [0])],
    ]
    base = 10**9 + uuid.uuid4().int % 10**9
    for number, each in enumerate(topics):
        for commit in (True, False):
            marker = WritableTxnMarker(base + number, 3, commit, each, 5)
            life.same(WriteTxnMarkersRequest([marker]), version)
            _assert_described_alike(life, 0, 1)
    one = [WritableTxnMarkerTopic(life.name, [0])]
    # An older epoch, an older coordinator, newer ones.
    for epoch, coordinator in ((2, 5), (3, 4), (4, 5), (4, 6)):
        life.same(
            WriteTxnMarkersRequest([WritableTxnMarker(base, epoch, True, one, coordinator)]),
            version,
        )
        _assert_described_alike(life, 0)
    life.same(WriteTxnMarkersRequest([]), version)
    _assert_described_alike(life, 0)


def _producers(topic: str, *indexes: int) -> DescribeProducersRequest:
    return DescribeProducersRequest([TopicRequest(topic, list(indexes))])


def _assert_described_alike(life: Life, *indexes: int) -> None:
    life.both.same(_producers(life.name, *indexes), 0, "producer_id", "last_timestamp")


def test_producers_are_described_alike(life: Life) -> None:
    for topic in (life.name, "absent", "", "not valid!", *INTERNAL):
        life.same(_producers(topic, 1000, -1), 0)
        life.same(_producers(topic), 0)
    life.both.same(_producers(INTERNAL[1], 0), 0, "producer_id", "last_timestamp")
    life.same(DescribeProducersRequest([]), 0)
    twice = [TopicRequest(life.name, [0, 0]), TopicRequest(life.name, [1])]
    life.same(DescribeProducersRequest(twice), 0)


# -- looking at transactions


@pytest.fixture(scope="module")
def several(both: Both) -> Iterator[list[Life]]:
    """One that is open, one that is empty, one that is committed and one that is aborted."""
    lives = [Life(both) for _ in range(4)]
    for life, ended in zip(lives, (None, None, True, False), strict=True):
        life.init()
        if life is not lives[1]:
            life.add(0, 1)
        if ended is not None:
            life.end(commit=ended)
            life.described()
    yield lives
    lives[0].end(commit=False)


def test_transactions_are_described_alike(several: list[Life]) -> None:
    names = [life.name for life in several]
    for asked in (names, [names[0], names[0]], [], ["absent", names[2]], ["", " "]):
        several[0].same(DescribeTransactionsRequest(asked), 0)


@pytest.mark.parametrize("version", range(3))
def test_transactions_are_listed_alike_with_every_filter(
    both: Both, several: list[Life], version: int
) -> None:
    """There are others, of other tests: only these are compared."""
    names = [life.name for life in several]
    states = [[], ["Ongoing"], ["Empty", "CompleteCommit"], ["ongoing"], ["PrepareCommit"]]
    states += [["Odd", ""], ["Dead"], ["CompleteAbort", "CompleteAbort"], ["PrepareEpochFence"]]
    for wanted in states:
        _assert_listed_alike(both, names, version, state_filters=wanted)
    for chosen in ([0], [0, 2], [0, 0], [1, 3]):
        ids = {
            side: [several[number].producer(side)[0] for number in chosen] for side in both.sides
        }
        _assert_listed_alike(both, names, version, ids)
    if version >= 1:
        for duration_ms in (-1, 0, 1, 3_600_000, -5):
            _assert_listed_alike(both, names, version, duration_filter=duration_ms)
    if version >= 2:
        for pattern in (None, "", ".*", "life-.*", "life", names[0], f"{names[0]}|{names[3]}"):
            _assert_listed_alike(both, names, version, transactional_id_pattern=pattern)
        # RE2 knows neither back references nor looking around; it does know classes and flags.
        for pattern in ("(a)\\1", "(?=a)", "life-\\p{L}+.*", "(?i)LIFE-.*", "*", "(?P<n>l).*"):
            _assert_listed_alike(both, names, version, transactional_id_pattern=pattern)
        _assert_listed_alike(
            both,
            names,
            version,
            state_filters=["Ongoing", "Odd"],
            duration_filter=0,
            transactional_id_pattern=".*",
        )


def _assert_listed_alike(
    both: Both,
    names: list[str],
    version: int,
    ids: dict[Side, list[int]] | None = None,
    **filters: Any,
) -> None:
    said = []
    for side in both.sides:
        wanted = dict(filters)
        if ids is not None:
            wanted["producer_id_filters"] = ids[side]
        answer = side.wait_for(
            ListTransactionsRequest(**wanted), version, lambda found: found.error_code != 14
        )
        mine = [each for each in answer.transaction_states if each.transactional_id in names]
        states = sorted((each.transactional_id, each.transaction_state) for each in mine)
        said.append((answer.error_code, sorted(answer.unknown_state_filters), states))
    theirs, ours = said
    assert ours == theirs, (version, filters)
