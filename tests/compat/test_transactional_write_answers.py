"""Transactional writes, good and bad: Apache Kafka and the broker must answer the same.

Each scenario is played with both, step by step; what comes of the steps is compared. Where Apache
Kafka is still busy with the end of a transaction, the step is repeated.
"""

import itertools
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.broker.batches import idempotent
from tests.broker.producing import fetch
from tests.broker.transacting import TV1_END, TV2_END
from tests.broker.transactional import MARKERS_VERSION, errors_of, markers, transactional
from tests.broker.transactional_writer import ADDS, OLD, VERIFIES, Writer
from tests.compat.broker_talk import PATIENCE_S, Both, Side

PRODUCE_VERSIONS = [3, OLD, VERIFIES, ADDS]
OFFSET_VERSIONS = range(6)
FIRST_WITH_MEMBERS = 3
ENDING = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS)
LOADING = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)

Scenario = Callable[["Stage"], list[Any]]


class Stage:
    """One side, the topic of the scenario, and the producers that play it."""

    def __init__(self, side: Side, topic: str) -> None:
        self.client = side.client
        self.topic = topic
        self._numbers = itertools.count()

    def producer(self, transactional_id: str = "", timeout_ms: int = 60_000) -> Writer:
        started = Writer(self.client, self.topic)
        started.id = transactional_id or f"{self.topic}-{next(self._numbers)}"
        self.settled(lambda: ErrorCode(started.init(timeout_ms=timeout_ms).error_code))
        return started

    def until_marked(self) -> None:
        """Wait for the marker: Apache Kafka answers the end of a transaction before it is there."""
        deadline = time.monotonic() + PATIENCE_S
        while (data := fetch(self.client, self.topic, 0)).last_stable_offset < data.high_watermark:
            assert time.monotonic() < deadline, data
            time.sleep(0.02)

    def settled(self, step: Callable[[], Any]) -> Any:
        """What comes of a step, when nothing is being loaded or ended any more."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            result = step()
            codes = result if isinstance(result, list) else [result]
            if not any(code in ENDING + LOADING for code in codes):
                return result
            assert time.monotonic() < deadline, result
            time.sleep(0.02)


@pytest.fixture(scope="module")
def ready(both: Both) -> Both:
    """Both, with their internal topics."""
    for side in both.sides:
        for kind in (0, 1):
            side.wait_for(
                FindCoordinatorRequest(key_type=kind, coordinator_keys=["x"]),
                6,
                lambda answer: answer.coordinators[0].error_code == 0,
            )
    return both


@pytest.fixture
def alike(ready: Both) -> Callable[[Scenario], list[Any]]:
    """Plays a scenario with both and compares; returns what came of it."""

    def play(scenario: Scenario) -> list[Any]:
        topic = f"transactions-{uuid.uuid4().hex[:8]}"
        ready.create(topic, 3)
        theirs, ours = ready.each(lambda side: scenario(Stage(side, topic)))
        assert ours == theirs
        return list(ours)

    return play


Alike = Callable[[Scenario], list[Any]]


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_partitions_are_verified_alike(alike: Alike, version: int) -> None:
    def scenario(stage: Stage) -> list[Any]:
        writer = stage.producer()
        results = [writer.write(0, b"x", version=version)]
        writer.add((stage.topic, 0))
        results.append(stage.settled(lambda: writer.write(0, b"x", version=version)))
        results.append(writer.write(0, b"x", partition=1, version=version))
        results.append(writer.write(0, b"x", partition=7, version=version))
        return results

    assert ErrorCode.NONE in alike(scenario)


@pytest.mark.parametrize("version", PRODUCE_VERSIONS[:3])
def test_what_comes_too_late_is_refused_alike(alike: Alike, version: int) -> None:
    def scenario(stage: Stage) -> list[Any]:
        writer = stage.producer()
        writer.add((stage.topic, 0))
        results: list[Any] = [stage.settled(lambda: writer.write(0, b"x", version=version))]
        results.append(stage.settled(lambda: writer.end(commit=False, version=TV1_END)))
        stage.until_marked()
        results.append(stage.settled(lambda: writer.write(1, b"late", version=version)))
        stage.settled(lambda: next(iter(writer.add((stage.topic, 1)).values())))
        results.append(stage.settled(lambda: writer.write(1, b"late", version=version)))
        return results

    alike(scenario)


def test_version_two_refuses_the_writes_of_the_last_transaction_alike(alike: Alike) -> None:
    def scenario(stage: Stage) -> list[Any]:
        writer = stage.producer()
        late = writer.batch(1, b"late")
        results: list[Any] = [writer.write(0, b"a")]
        results.append(stage.settled(lambda: writer.end(commit=False, version=TV2_END)))
        results.append(stage.settled(lambda: writer.write(0, b"next")))
        results += writer.send((0, late))
        return results

    assert alike(scenario)[-1] is ErrorCode.INVALID_PRODUCER_EPOCH


def test_sequences_are_checked_alike(alike: Alike) -> None:
    def scenario(stage: Stage) -> list[Any]:
        writer = stage.producer()
        return [writer.write(sequence, b"x") for sequence in (5, 0, 9, 1, 0)]

    alike(scenario)


def test_fenced_producers_are_refused_alike(alike: Alike) -> None:
    def scenario(stage: Stage) -> list[Any]:
        writer = stage.producer()
        results: list[Any] = [writer.write(0, b"x"), writer.commit_offset(1)]
        stage.producer(writer.id)
        for version in (OLD, VERIFIES, ADDS):
            results.append(writer.write(1, b"x", version=version))
            results.append(writer.write(0, b"x", partition=1, version=version))
        results += [writer.commit_offset(2, version=version) for version in OFFSET_VERSIONS]
        return results

    alike(scenario)


@pytest.mark.parametrize("version", [VERIFIES, ADDS])
@pytest.mark.parametrize("is_continued", [False, True])
def test_transactions_that_time_out_are_refused_alike(
    alike: Alike, version: int, is_continued: bool
) -> None:
    """With version 2 the producer goes on after its abort. With version 1 it is fenced, unless it
    asks for its next epoch, as clients do after INVALID_PRODUCER_EPOCH (KIP-588)."""
    end_version = TV2_END if version == ADDS else TV1_END

    def scenario(stage: Stage) -> list[Any]:
        writer = stage.producer(timeout_ms=300)
        if version < ADDS:
            writer.add((stage.topic, 0))
        results: list[Any] = [stage.settled(lambda: writer.write(0, b"x", version=version))]
        stage.until_marked()
        if is_continued:
            results.append(stage.settled(lambda: ErrorCode(writer.init(continues=True).error_code)))
        results.append(stage.settled(lambda: writer.write(1, b"late", version=version)))
        results.append(stage.settled(lambda: writer.write(0, b"late", 1, version=version)))
        results.append(stage.settled(lambda: writer.end(version=end_version)))
        results.append(stage.settled(lambda: writer.end(commit=False, version=end_version)))
        results.append(stage.settled(lambda: list(writer.add((stage.topic, 1)).values())))
        results.append(writer.epoch)
        return results

    results = alike(scenario)
    if not is_continued:
        late = ErrorCode.INVALID_PRODUCER_EPOCH
        assert results[1:3] == [late, late]
        fenced = ErrorCode.PRODUCER_FENCED
        ends = [ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE] if version == ADDS else [fenced] * 2
        assert results[3:5] == ends
        assert results[5:] == ([[ErrorCode.NONE], 1] if version == ADDS else [[fenced], 0])


def test_ids_that_are_not_theirs_are_refused_alike(alike: Alike) -> None:
    def scenario(stage: Stage) -> list[Any]:
        owner, other = stage.producer(), stage.producer()
        results: list[Any] = []
        for transactional_id in (owner.id, f"{stage.topic}-nobody"):
            other.id = transactional_id
            results += [other.write(0, b"x", version=version) for version in (VERIFIES, ADDS)]
            results += [other.commit_offset(1, version=version) for version in OFFSET_VERSIONS]
        return results

    alike(scenario)


def test_mixed_requests_are_answered_alike(alike: Alike) -> None:
    def scenario(stage: Stage) -> list[Any]:
        writer = stage.producer()
        stranger = transactional(writer.producer_id + 1000, 0, b"x", timestamp=None)
        mine = writer.batch(0, b"a")
        plain = idempotent(writer.producer_id, 0, b"p", epoch=writer.epoch)
        results: list[Any] = writer.send((0, mine), (1, stranger))
        results += writer.send((0, mine), (1, stranger), (2, plain))
        results += writer.send((1, plain), (0, mine))
        results += writer.send((0, idempotent(writer.producer_id, 1, b"p", epoch=writer.epoch)))
        request = writer.request((2, writer.batch(0, b"a")))
        request.transactional_id = None
        response = stage.client.send(request, ADDS)
        results.append(ErrorCode(response.responses[0].partition_responses[0].error_code))
        return results

    alike(scenario)


@pytest.mark.parametrize("version", OFFSET_VERSIONS)
def test_offsets_are_taken_and_refused_alike(alike: Alike, version: int) -> None:
    def scenario(stage: Stage) -> list[Any]:
        writer = stage.producer()
        results: list[Any] = [writer.commit_offset(4, version=version)]
        if version < OFFSET_VERSIONS[-1]:
            results.append(stage.settled(lambda: writer.add_offsets(stage.topic)))
        results.append(stage.settled(lambda: writer.commit_offset(5, version=version)))
        results += [writer.offset(), writer.offset(stable=True)]
        places = {("nowhere", 0): 1, (stage.topic, 9): 1, (stage.topic, 1): 1}
        results.append(writer.commit_offsets(places, version=version))
        if version >= FIRST_WITH_MEMBERS:
            for member in (
                {"generation_id": 3, "member_id": "m"},
                {"member_id": "m"},
                {"group_instance_id": "i"},
            ):
                results.append(writer.commit_offset(6, version=version, **member))
        end_version = TV2_END if version == OFFSET_VERSIONS[-1] else TV1_END
        results.append(stage.settled(lambda: writer.end(version=end_version)))
        results.append(_stable_offset(writer))
        return results

    assert ErrorCode.NONE in alike(scenario)


def _stable_offset(writer: Writer) -> int | ErrorCode:
    """Apache Kafka answers the end of a transaction before its markers are written."""
    deadline = time.monotonic() + PATIENCE_S
    while (offset := writer.offset(stable=True)) is ErrorCode.UNSTABLE_OFFSET_COMMIT:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return offset


def test_markers_are_taken_and_refused_alike(alike: Alike) -> None:
    def scenario(stage: Stage) -> list[Any]:
        writer = stage.producer()
        results: list[Any] = [writer.write(0, b"a")]

        def end(bump: int, version: int, coordinator_epoch: int = 3) -> list[ErrorCode]:
            request = markers(
                writer.producer_id,
                {stage.topic: [0], "nowhere": [0]},
                epoch=writer.epoch + bump,
                transaction_version=version,
                coordinator_epoch=coordinator_epoch,
            )
            answer = errors_of(stage.client.send(request, MARKERS_VERSION))
            return [ErrorCode(answer[place]) for place in sorted(answer)]

        steps = ((0, 2), (0, 1), (0, 1), (0, 1, 2), (1, 2), (1, 2), (0, 1))
        results += [end(*step) for step in steps]
        results.append(writer.write(0, b"after"))
        return results

    alike(scenario)
