"""Internal topics on a real broker."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from moldau.client.admin import Admin, ResourceType
from moldau.client.producer import Producer
from moldau.connect.stores.config_records import TargetState, connector_config, target_state
from moldau.connect.stores.config_store import ConfigStore
from moldau.connect.stores.offset_store import OffsetStore
from moldau.connect.stores.status_records import Status, connector_status
from moldau.connect.stores.status_store import StatusStore
from moldau.connect.stores.topic_log import ClientSettings, TopicError, TopicLog, TopicSettings
from moldau.errors import ApiError, ErrorCode
from tests.running import RunningBroker

CONFIGS = TopicSettings("configs", "config.storage.topic", "connector configurations", 1, 1)
OFFSETS = TopicSettings("offsets", "offset.storage.topic", "source connector offsets", 5, 1)
ONE_PARTITION = replace(OFFSETS, partitions=1)
STATUS = TopicSettings(
    "statuses", "status.storage.topic", "statuses", 2, 1, {"segment.bytes": "1048576"}
)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    with RunningBroker(Path(tmp_path_factory.mktemp("broker"))) as running:
        yield running


@pytest.fixture
def clients(broker: RunningBroker) -> Iterator[ClientSettings]:
    yield ClientSettings(broker.bootstrap, "test")
    with Admin(broker.bootstrap) as admin:
        names = [each.name for each in admin.list_topics()]
        admin.delete_topics(names)


def test_a_missing_topic_is_created_compacted(clients: ClientSettings) -> None:
    store = StatusStore(TopicLog(clients, STATUS))
    store.start()
    with Admin(clients.bootstrap) as admin:
        settings = {
            each.name: each.value for each in admin.describe_configs(ResourceType.TOPIC, "statuses")
        }
        assert settings["cleanup.policy"] == "compact"
        assert settings["segment.bytes"] == "1048576"
        assert len(admin.describe_topics(["statuses"])[0].partitions) == 2
    store.close()


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
def test_a_topic_that_is_not_compacted_is_refused(clients: ClientSettings, policy: str) -> None:
    with Admin(clients.bootstrap) as admin:
        admin.create_topic("offsets", 1, 1, configs={"cleanup.policy": policy})
    with pytest.raises(TopicError, match=rf"offsets of offset.storage.topic has .*={policy}"):
        OffsetStore(TopicLog(clients, OFFSETS)).start()


def test_a_config_topic_with_two_partitions_is_refused(clients: ClientSettings) -> None:
    with Admin(clients.bootstrap) as admin:
        admin.create_topic("configs", 2, 1, configs={"cleanup.policy": "compact"})
    with pytest.raises(TopicError, match="has 2 partitions"):
        ConfigStore(TopicLog(clients, CONFIGS)).start()


def test_one_store_reads_what_another_wrote(clients: ClientSettings) -> None:
    one, other = (ConfigStore(TopicLog(clients, CONFIGS)) for _ in range(2))
    one.start()
    one.write([connector_config("a", {"x": "1"})])
    other.start()
    assert other.snapshot().connectors == {"a": {"x": "1"}}
    other.write([target_state("a", TargetState.PAUSED)])
    one.refresh()
    assert one.snapshot().target("a") is TargetState.PAUSED
    one.close()
    other.close()


def test_a_bad_record_does_not_hide_the_others(clients: ClientSettings) -> None:
    store = ConfigStore(TopicLog(clients, CONFIGS))
    store.start()
    with Producer(clients.bootstrap) as producer:
        producer.send("configs", b"not json", key=b"connector-bad")
    store.write([connector_config("a", {})])
    assert list(store.snapshot().connectors) == ["a"]
    store.close()


def test_a_status_is_read_back_after_it_was_put(clients: ClientSettings) -> None:
    store = StatusStore(TopicLog(clients, STATUS))
    store.start()
    status = Status("RUNNING", "w", 1)
    store.put([connector_status("a", status)])
    assert store.flush(10)
    assert store.snapshot().connectors == {"a": status}
    store.close()


def test_offsets_are_found_by_any_order_of_fields_and_keep_their_key(
    clients: ClientSettings,
) -> None:
    store = OffsetStore(TopicLog(clients, OFFSETS), "offsets")
    store.start()
    store.write("a", [({"db": "x", "table": "t"}, {"id": 1})])
    assert store.read("a") == [({"db": "x", "table": "t"}, {"id": 1})]
    # The same partition, in another order.
    key, _ = store.encode("a", {"table": "t", "db": "x"}, {"id": 2})
    assert key == b'["a",{"db":"x","table":"t"}]'
    store.write("a", [({"table": "t", "db": "x"}, {"id": 2})])
    assert store.read("a") == [({"db": "x", "table": "t"}, {"id": 2})]
    store.write("a", [({"table": "t", "db": "x"}, None)])
    assert store.read("a") == []
    store.close()


def test_offsets_of_an_aborted_transaction_do_not_count(clients: ClientSettings) -> None:
    store = OffsetStore(TopicLog(clients, OFFSETS), "offsets")
    store.start()
    with Producer(clients.bootstrap, transactional_id="t") as producer:
        with producer.transaction():
            key, value = store.encode("a", {"f": "x"}, {"position": 1})
            producer.send("offsets", value, key=key)
        producer.begin_transaction()
        key, value = store.encode("a", {"f": "x"}, {"position": 2})
        producer.send("offsets", value, key=key)
        producer.flush()
        producer.abort_transaction()
    assert store.read("a") == [({"f": "x"}, {"position": 1})]
    store.close()


def test_offsets_are_read_behind_the_open_transaction_of_another_connector(
    clients: ClientSettings,
) -> None:
    """Both are in one partition: what is stable there ends before the open transaction."""
    store = OffsetStore(TopicLog(clients, ONE_PARTITION, awaits_transactions=True), "offsets")
    store.start()
    with (
        Producer(clients.bootstrap, transactional_id="other") as other,
        Producer(clients.bootstrap, transactional_id="own") as own,
    ):
        other.begin_transaction()
        key, value = store.encode("other", {"f": "x"}, {"position": 1})
        other.send("offsets", value, key=key)
        other.flush()
        with own.transaction():
            key, value = store.encode("own", {"f": "x"}, {"position": 2})
            own.send("offsets", value, key=key)
        with ThreadPoolExecutor(1) as pool:
            reading = pool.submit(store.read, "own")
            with pytest.raises(TimeoutError):
                reading.result(0.3)
            # As the other connector does when it is started again.
            other.abort_transaction()
            assert reading.result(30) == [({"f": "x"}, {"position": 2})]
        assert store.read("other") == []
    store.close()


def test_a_transaction_that_stays_open_is_named_as_the_reason(broker: RunningBroker) -> None:
    clients = ClientSettings(broker.bootstrap, "test", timeout_s=3.0)
    store = OffsetStore(TopicLog(clients, ONE_PARTITION, awaits_transactions=True), "offsets")
    with Producer(clients.bootstrap, transactional_id="other") as other:
        store.start()
        other.begin_transaction()
        key, value = store.encode("other", {"f": "x"}, {"position": 1})
        other.send("offsets", value, key=key)
        other.flush()
        # A worker starts all the same: what is stable may be old, but is asked for again.
        late = OffsetStore(TopicLog(clients, ONE_PARTITION, awaits_transactions=True), "offsets")
        late.start()
        with pytest.raises(ApiError, match="transaction of offsets-0 is still open") as refused:
            store.read("own")
        assert refused.value.code.retriable
        other.abort_transaction()
    late.close()
    store.close()
    with Admin(broker.bootstrap) as admin:
        admin.delete_topics(["offsets"])


def test_a_writer_that_claims_a_log_keeps_the_earlier_one_out(clients: ClientSettings) -> None:
    one, other = (ConfigStore(TopicLog(clients, CONFIGS, "connect-cluster-x")) for _ in range(2))
    one.start()
    one.claim()
    one.write([connector_config("a", {"x": "1"})])
    other.start()
    other.claim()
    with pytest.raises(ApiError) as refused:
        one.write([connector_config("a", {"x": "2"})])
    assert refused.value.code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    other.write([target_state("a", TargetState.PAUSED)])
    assert other.snapshot().connectors == {"a": {"x": "1"}}
    assert other.snapshot().target("a") is TargetState.PAUSED
    one.close()
    other.close()
