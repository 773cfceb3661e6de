"""Offsets that are pending in a transaction, while what they belong to is deleted or expires.

Numbers are those of Apache Kafka's issues.
"""

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from tests.simulator.scenes import Scene, scene
from tests.simulator.test_transaction_scenarios import DATA, begin, restart
from tests.simulator.transacting import NONE, SETTINGS

OTHER = TopicPartition("other", 0)
SHORT_RETENTION = {
    **SETTINGS,
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "1000",
}


def test_the_tombstone_of_an_offset_drops_what_is_pending_for_it() -> None:
    """Also when the log is loaded: the commit comes after the topic has been deleted."""
    with scene("single", settings=SETTINGS) as made:
        producer = begin(made)
        assert made.create_topic(OTHER.topic) == NONE
        for each in (DATA, OTHER):
            assert producer.send_offset("g", each, 5) == NONE
        assert made.delete_topic(OTHER.topic) == NONE
        made.run_for(2)
        assert producer.end(is_commit=True) == NONE
        assert producer.fetch_offset("g", OTHER) == (NONE, -1)
        assert producer.fetch_offset("g", DATA) == (NONE, 5)
        restart(made)
        producer.until_done(lambda: producer.fetch_offset("g", OTHER)[0])
        assert producer.fetch_offset("g", OTHER) == (NONE, -1)
        assert producer.fetch_offset("g", DATA) == (NONE, 5)


def test_19163_a_group_that_has_only_pending_offsets_does_not_expire() -> None:
    """Nor does an offset that a transaction may still replace."""
    with scene("single", settings=SHORT_RETENTION) as made:
        producer = begin(made)
        producer.begin_anew(timeout_ms=600_000)
        assert producer.commit_offset("g", DATA, 1) == NONE
        for group in ("g", "pending"):
            assert producer.send_offset(group, DATA, 5) == NONE
        made.run_for(120)
        assert group_ids(made) == ["g", "pending"]
        unstable = (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
        for group in ("g", "pending"):
            assert producer.fetch_offset(group, DATA) == unstable
        assert producer.fetch_offset("g", DATA, is_stable=False) == (NONE, 1)
        assert producer.end(is_commit=True) == NONE
        assert [producer.fetch_offset(group, DATA) for group in ("g", "pending")] == [(NONE, 5)] * 2


def group_ids(made: Scene) -> list[str]:
    client = made.client()
    (address,) = made.cluster.addresses
    answer = made.ask(client.send(address, ListGroupsRequest(), ListGroupsResponse), client)
    return sorted(each.group_id for each in answer.groups)
