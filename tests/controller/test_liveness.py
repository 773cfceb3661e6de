"""What connections and refused connects say about brokers."""

from moldau.controller.liveness import (
    NEW_TERM_MS,
    PROBE_PAUSE_MS,
    QUIET_MS,
    UNKNOWN_EPOCH,
    BrokerLiveness,
)
from moldau.ids import NO_UUID
from moldau.metadata.registrations import BrokerRegistration

EPOCH = 40
BROKER = BrokerRegistration(
    id=7,
    epoch=EPOCH,
    incarnation_id=NO_UUID,
    endpoints=(),
    features={},
    rack=None,
    fenced=False,
    in_controlled_shutdown=False,
    log_dirs=(),
    cordoned_log_dirs=None,
)
NEXT = BROKER._replace(epoch=EPOCH + 5)


def active(*connections: int) -> BrokerLiveness:
    """A term that began long ago, in which broker 7 has these connections."""
    liveness = BrokerLiveness()
    liveness.begin_term({}, 0)
    for connection in connections:
        liveness.connected(connection, 7, EPOCH, 1_000)
    return liveness


def probe(liveness: BrokerLiveness, now_ms: int, is_refused: bool = True) -> bool:
    [suspicion] = liveness.due(now_ms)
    return liveness.probed(suspicion, is_refused, now_ms)


def test_a_broker_is_dead_after_two_refusals() -> None:
    liveness = active(1)
    liveness.disconnected(1, 2_000)
    first_ms = 2_000 + QUIET_MS
    assert liveness.deadline_ms == first_ms
    assert liveness.due(first_ms - 1) == []
    assert not probe(liveness, first_ms)
    second_ms = first_ms + PROBE_PAUSE_MS
    assert liveness.deadline_ms == second_ms
    assert liveness.due(second_ms - 1) == []
    assert probe(liveness, second_ms)
    assert liveness.deadline_ms is None


def test_the_pause_between_two_probes_begins_when_the_first_has_ended() -> None:
    liveness = active(1)
    liveness.disconnected(1, 2_000)
    [suspicion] = liveness.due(2_000 + QUIET_MS)
    # Under way: no second one is due.
    assert liveness.due(2_900) == []
    liveness.probed(suspicion, True, 3_000)
    assert liveness.deadline_ms == 3_000 + PROBE_PAUSE_MS


def test_every_connection_must_have_closed() -> None:
    liveness = active(1, 2)
    liveness.connected(3, 7, UNKNOWN_EPOCH, 1_000)
    for connection in (1, 3):
        liveness.disconnected(connection, 2_000)
        assert liveness.deadline_ms is None
    liveness.disconnected(2, 2_000)
    assert liveness.deadline_ms == 2_000 + QUIET_MS


def test_a_broker_that_comes_back_is_not_suspected() -> None:
    for epoch in (EPOCH, UNKNOWN_EPOCH):
        liveness = active(1)
        liveness.disconnected(1, 2_000)
        liveness.connected(2, 7, epoch, 2_000 + QUIET_MS - 1)
        assert liveness.deadline_ms is None
        assert liveness.due(10_000) == []


def test_a_broker_that_comes_back_during_a_probe_is_not_dead() -> None:
    liveness = active(1)
    liveness.disconnected(1, 2_000)
    assert not probe(liveness, 2_200)
    [suspicion] = liveness.due(2_300)
    liveness.connected(2, 7, UNKNOWN_EPOCH, 2_300)
    assert not liveness.probed(suspicion, True, 2_301)


def test_a_probe_of_an_earlier_silence_does_not_count() -> None:
    liveness = active(1)
    liveness.disconnected(1, 2_000)
    [suspicion] = liveness.due(2_200)
    liveness.connected(2, 7, EPOCH, 2_210)
    liveness.disconnected(2, 2_220)
    assert not liveness.probed(suspicion, True, 2_230)
    assert liveness.deadline_ms == 2_220 + QUIET_MS
    assert not probe(liveness, 2_400)


def test_anything_but_a_refusal_leaves_it_to_the_session() -> None:
    liveness = active(1)
    liveness.disconnected(1, 2_000)
    assert not probe(liveness, 2_200)
    assert not probe(liveness, 2_300, is_refused=False)
    assert liveness.deadline_ms is None
    assert liveness.due(20_000) == []


def test_a_new_controller_waits_for_the_brokers_first() -> None:
    liveness = BrokerLiveness()
    other = BROKER._replace(id=8)
    liveness.connected(1, 8, UNKNOWN_EPOCH, 4_900)
    liveness.begin_term({7: BROKER, 8: other}, 5_000)
    assert liveness.deadline_ms == 5_000 + NEW_TERM_MS
    assert not probe(liveness, 5_300)
    assert probe(liveness, 5_400)


def test_only_the_active_controller_suspects_anybody() -> None:
    liveness = BrokerLiveness()
    liveness.connected(1, 7, EPOCH, 1_000)
    liveness.disconnected(1, 2_000)
    assert liveness.deadline_ms is None
    liveness.begin_term({7: BROKER}, 3_000)
    liveness.end_term()
    assert liveness.deadline_ms is None
    assert not liveness.has_left(BROKER, 60_000)


def test_an_earlier_incarnation_says_nothing_about_the_current_one() -> None:
    liveness = active(1)
    liveness.connected(2, 7, NEXT.epoch, 3_000)
    liveness.disconnected(2, 4_000)
    # The connection of the earlier one is still open, and still used.
    liveness.connected(1, 7, EPOCH, 4_010)
    assert not probe(liveness, 4_000 + QUIET_MS)
    assert probe(liveness, 4_500)


def test_a_suspicion_is_about_one_incarnation() -> None:
    liveness = active(1)
    liveness.disconnected(1, 2_000)
    [suspicion] = liveness.due(3_000)
    assert (suspicion.broker_id, suspicion.broker_epoch) == (7, EPOCH)
    liveness.end_term()
    liveness.begin_term({7: NEXT}, 5_000)
    [suspicion] = liveness.due(6_000)
    assert suspicion.broker_epoch == NEXT.epoch


def test_whose_connections_are_open_is_not_known_after_a_term_of_another() -> None:
    liveness = BrokerLiveness()
    liveness.connected(1, 7, EPOCH, 1_000)
    liveness.begin_term({7: NEXT}, 5_000)
    # Nobody is suspected who may be connected, but a successor may take its place.
    assert liveness.deadline_ms is None
    assert liveness.has_left(NEXT, 6_000)
    liveness.connected(2, 7, NEXT.epoch, 7_000)
    assert not liveness.has_left(NEXT, 8_000)


def test_an_incarnation_has_left_when_its_connections_are_closed_for_a_while() -> None:
    liveness = active(1, 2)
    assert not liveness.has_left(BROKER, 60_000)
    liveness.disconnected(1, 61_000)
    assert not liveness.has_left(BROKER, 62_000)
    liveness.disconnected(2, 62_000)
    assert not liveness.has_left(BROKER, 62_000 + QUIET_MS - 1)
    assert liveness.has_left(BROKER, 62_000 + QUIET_MS)


def test_the_fetches_of_a_successor_do_not_keep_its_predecessor() -> None:
    liveness = active(1)
    liveness.disconnected(1, 2_000)
    liveness.connected(2, 7, UNKNOWN_EPOCH, 2_100)
    assert liveness.due(5_000) == []
    assert liveness.has_left(BROKER, 2_000 + QUIET_MS)
    # But a heartbeat shows that it was the predecessor who had come back.
    liveness.connected(3, 7, EPOCH, 2_500)
    assert not liveness.has_left(BROKER, 60_000)
    liveness.disconnected(3, 61_000)
    assert not liveness.has_left(BROKER, 62_000)


def test_in_a_new_term_nobody_has_left_before_there_was_time_to_connect() -> None:
    liveness = BrokerLiveness()
    liveness.connected(1, 7, UNKNOWN_EPOCH, 1_000)
    liveness.begin_term({7: BROKER}, 5_000)
    assert not liveness.has_left(BROKER, 5_000 + NEW_TERM_MS - 1)
    assert liveness.has_left(BROKER, 5_000 + NEW_TERM_MS)


def test_a_connection_that_speaks_for_two_brokers_counts_for_the_last() -> None:
    liveness = active(1)
    liveness.connected(1, 8, EPOCH + 1, 2_000)
    assert liveness.deadline_ms == 2_000 + QUIET_MS
    liveness.disconnected(1, 3_000)
    assert len(liveness.due(4_000)) == 2
