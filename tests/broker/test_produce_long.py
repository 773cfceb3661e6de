"""Batches that take long to validate: other requests do not wait, and the order is kept."""

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

import pytest
from benchmarks import stall_attacks_records as attacks

from moldau.clock import ManualClock
from moldau.config.topic import LogConfig
from moldau.errors import ApiError, ErrorCode
from moldau.network.session import CloseConnection, Overlapping
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from moldau.record.compression import Codec, compress
from moldau.record.fitting import MAX_NAMED_RECORDS
from moldau.record.header import BATCH_HEADER_SIZE, encode_batch, read_header
from moldau.record.validator import TakesLong, validate_produced
from moldau.simulator.disk import SimulatedDisk
from tests.broker.batches import batch
from tests.broker.producing import create_topic, fetch, produce, produce_request, read_all
from tests.broker.simulated import SimulatedBroker
from tests.running import WireClient

TIMEOUT_S = 120
VERSION = 12
# Requests name topics by id from here on.
BY_ID = 13
NOW = 1_000_000
LONG = batch(*[b"value" * 100] * 3000, codec=Codec.GZIP, timestamp=1000)
SHORT = batch(b"short", timestamp=1000)


class ByHand(Executor):
    """Runs work immediately, except validations: the test runs these."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        self.waiting.append((future, partial(fn, *args, **kwargs)))
        if fn is not validate_produced:
            self.run_next()
        return future

    def run_next(self) -> None:
        future, work = self.waiting.pop()
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)


class Simulated:
    """A broker with one topic, whose validations wait until the test runs them."""

    def __init__(self) -> None:
        self.executor = ByHand()
        self.broker = SimulatedBroker(SimulatedDisk(), ManualClock(), executor=self.executor)

    def run(self, scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def within() -> None:
            await self.broker.node.start()
            await self.broker.create("t")
            await scenario()
            await self.broker.node.stop()

        asyncio.run(asyncio.wait_for(within(), TIMEOUT_S))

    def begin(self, request: ProduceRequest) -> "asyncio.Future[Any]":
        """Send a request that is not answered immediately."""
        handled = self.broker.handle(request, VERSION)
        # The connection must be muted until all of this request is appended.
        assert not isinstance(handled, Overlapping | list | None)
        return asyncio.ensure_future(handled)

    def result(self, reply: Any) -> Any:
        response = self.broker.read_reply(reply, 0, VERSION)
        return response.responses[0].partition_responses[0]


async def turns(count: int = 10) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def many(batches: list[bytes], acks: int = -1) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=each) for each in batches]
    return ProduceRequest(
        acks=acks,
        timeout_ms=1000,
        topic_data=[
            TopicProduceData(name="t", partition_data=data),
            TopicProduceData(name="t", partition_data=[]),
            TopicProduceData(name="t", partition_data=data[:1]),
        ],
    )


def test_a_batch_that_takes_long_gets_its_offset_when_it_was_checked() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        long = simulated.begin(produce_request("t", LONG))
        await turns()
        # In the meantime, others write to the same partition and read from it.
        assert await simulated.broker.produce("t", b"first") == 0
        assert await simulated.broker.read("t") == [b"first"]
        assert not long.done()
        simulated.executor.run_next()
        result = simulated.result(await long)
        assert (result.error_code, result.base_offset) == (0, 1)

    simulated.run(scenario)


def test_the_rest_of_a_request_comes_after_its_batch_that_takes_long() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        pending = simulated.begin(many([SHORT, LONG, SHORT]))
        await turns()
        assert await simulated.broker.read("t") == [b"short"]
        simulated.executor.run_next()
        response = simulated.broker.read_reply(await pending, 0, VERSION)
        results = [each.partition_responses for each in response.responses]
        assert [each.base_offset for each in results[0]] == [0, 1, 3001]
        assert [len(each) for each in results] == [3, 0, 1]
        assert results[2][0].base_offset == 3002

    simulated.run(scenario)


def test_a_topic_that_is_deleted_while_its_batch_is_checked_is_unknown() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        long = simulated.begin(produce_request("t", LONG))
        await turns()
        deletion = DeleteTopicsRequest([DeleteTopicState(name="t")], timeout_ms=60_000)
        await simulated.broker.send(deletion, 6)
        simulated.executor.run_next()
        result = simulated.result(await long)
        assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    simulated.run(scenario)


@pytest.mark.parametrize("version", [VERSION, BY_ID])
def test_a_batch_is_not_written_to_a_topic_that_was_made_while_it_was_checked(version: int) -> None:
    simulated = Simulated()
    broker = simulated.broker

    async def scenario() -> None:
        request = produce_request("t", LONG)
        [topic] = request.topic_data
        topic.topic_id = broker.node.broker.image.topics_by_name["t"].id
        long = asyncio.ensure_future(broker.handle(request, version))
        await turns()
        deletion = DeleteTopicsRequest([DeleteTopicState(name="t")], timeout_ms=60_000)
        await broker.send(deletion, 6)
        await broker.create("t")
        simulated.executor.run_next()
        response = broker.read_reply(await long, 0, version)
        [result] = response.responses[0].partition_responses
        unknown = ErrorCode.UNKNOWN_TOPIC_ID
        if version < BY_ID:
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert result.error_code == unknown
        assert await broker.read("t") == []

    simulated.run(scenario)


def test_the_rest_of_a_request_is_not_written_to_a_topic_that_was_made_meanwhile() -> None:
    simulated = Simulated()
    broker = simulated.broker

    async def scenario() -> None:
        request = many([SHORT, LONG, SHORT])
        for topic in request.topic_data:
            topic.topic_id = broker.node.broker.image.topics_by_name["t"].id
        pending = asyncio.ensure_future(broker.handle(request, BY_ID))
        await turns()
        deletion = DeleteTopicsRequest([DeleteTopicState(name="t")], timeout_ms=60_000)
        await broker.send(deletion, 6)
        await broker.create("t")
        simulated.executor.run_next()
        response = broker.read_reply(await pending, 0, BY_ID)
        codes = [each.error_code for each in response.responses[0].partition_responses]
        assert codes == [0, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID]
        assert await broker.read("t") == []

    simulated.run(scenario)


def test_nothing_is_appended_for_a_client_that_went_away_while_its_batch_was_checked() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        long = simulated.begin(produce_request("t", LONG))
        await turns()
        long.cancel()
        await turns()
        simulated.executor.run_next()
        await turns()
        assert await simulated.broker.read("t") == []

    simulated.run(scenario)


def test_a_request_of_many_batches_takes_many_turns() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        packed = batch(b"x" * 100, codec=Codec.LZ4, timestamp=1000)
        pending = simulated.begin(many([packed] * 160))
        taken = 0
        while not pending.done():
            await asyncio.sleep(0)
            taken += 1
        assert taken >= 10
        response = simulated.broker.read_reply(pending.result(), 0, VERSION)
        offsets = [
            each.base_offset for topic in response.responses for each in topic.partition_responses
        ]
        assert offsets == list(range(161))

    simulated.run(scenario)


def test_a_request_that_is_refused_a_thousand_times_takes_several_turns_and_one_line() -> None:
    simulated = Simulated()

    async def scenario() -> None:
        pending = simulated.begin(many([b""] * 1000, acks=0))
        await turns(3)
        assert not pending.done()
        with pytest.raises(CloseConnection) as caught:
            await pending
        assert len(caught.value.reason) < 1000

    simulated.run(scenario)


SMALL_ATTACKS: dict[str, Callable[[], attacks.Attack]] = {
    "null keys": lambda: attacks.null_keys(NOW, 200_000),
    "same offsets": lambda: attacks.same_offsets(NOW, 200_000),
    "same offsets into gzip": lambda: attacks.same_offsets_into_gzip(NOW, 200_000),
    "gzip into zstd": lambda: attacks.gzip_into_zstd(NOW, 1_000_000),
    "from the future": lambda: attacks.from_the_future(NOW, 200_000),
    "sustained zstd": lambda: attacks.sustained_zstd(NOW, 1),
    "sustained gzip": lambda: attacks.sustained_gzip(NOW, 1),
    "smallest records": lambda: attacks.smallest_records(NOW, 200_000),
    "too many bytes": lambda: attacks.too_many_bytes(NOW, 200_000_000),
    "empty frames": lambda: attacks.empty_frames(NOW, 100),
}


def config_of(settings: dict[str, str]) -> LogConfig:
    fields: dict[str, Any] = {}
    for name, value in settings.items():
        fields[name.replace(".", "_")] = int(value) if value.isdigit() else value
    if "cleanup_policy" in fields:
        fields["cleanup_policy"] = (fields["cleanup_policy"],)
    return LogConfig(**fields)


def test_batches_of_the_other_attacks_are_quick_to_look_into() -> None:
    for settings, batches in (attacks.many_producers(NOW, 3, 1), attacks.flushed_each(NOW, 1)):
        for each in batches:
            config = config_of(settings)
            assert validate_produced(each, config, NOW, may_take_long=False).is_checked
    assert len(SMALL_ATTACKS) + 2 == len(attacks.ATTACKS)


@pytest.mark.parametrize("name", SMALL_ATTACKS)
def test_what_takes_long_is_not_done_on_the_event_loop(name: str) -> None:
    settings, batches = SMALL_ATTACKS[name]()
    for each in batches:
        with pytest.raises(TakesLong):
            validate_produced(each, config_of(settings), NOW, may_take_long=False)


@pytest.mark.parametrize("name", ["null keys", "from the future"])
def test_of_many_refused_records_the_first_are_named_and_all_are_counted(name: str) -> None:
    settings, (hostile,) = SMALL_ATTACKS[name]()
    with pytest.raises(ApiError, match="200000 of the batch's records") as caught:
        validate_produced(hostile, config_of(settings), NOW)
    assert len(getattr(caught.value, "record_errors", ())) == MAX_NAMED_RECORDS


def test_an_answer_names_no_more_records_however_many_batches_are_refused(
    client: WireClient,
) -> None:
    create_topic(client, "t", cleanup_policy="compact")
    keyless = batch(*[b"x"] * (MAX_NAMED_RECORDS - 10))
    response = client.send(many([keyless] * 3), VERSION)
    results = [each for topic in response.responses for each in topic.partition_responses]
    assert [each.error_code for each in results] == [ErrorCode.INVALID_RECORD] * 4
    assert [len(each.record_errors) for each in results] == [MAX_NAMED_RECORDS - 10, 10, 0, 0]
    assert "990 of the batch's records" in results[-1].error_message


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_garbage_that_unpacks_to_much_is_refused_and_stops_no_consumer(
    client: WireClient, codec: Codec
) -> None:
    create_topic(client, "t")
    header = read_header(batch(b"one", b"two", codec=codec), 0)
    garbage = encode_batch(header, compress(codec, b"garbage " * 1_000_000))
    assert produce(client, "t", garbage).error_code == ErrorCode.INVALID_RECORD
    sound = batch(b"x" * 6_000_000, codec=codec)
    torn = encode_batch(read_header(sound, 0), sound[BATCH_HEADER_SIZE:-5])
    assert produce(client, "t", torn).error_code == ErrorCode.INVALID_RECORD
    assert produce(client, "t", sound).error_code == 0
    assert [len(each.value or b"") for each in read_all(client, "t")] == [6_000_000]


def test_replies_of_one_connection_keep_their_order_and_so_do_its_batches(
    client: WireClient,
) -> None:
    create_topic(client, "t")
    long = batch(*[b"value" * 100] * 3000, codec=Codec.GZIP)
    requests = [produce_request("t", each) for each in (long, batch(b"a"), long, batch(b"b"))]
    for request in requests:
        client.post(request, VERSION)
    answers = [client.receive(0, VERSION) for _ in requests]
    offsets = [each.responses[0].partition_responses[0].base_offset for each in answers]
    assert offsets == [0, 3000, 3001, 6001]
    assert fetch(client, "t", 4001).error_code == 0
