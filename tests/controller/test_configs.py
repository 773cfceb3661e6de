"""IncrementalAlterConfigs and AlterConfigs."""

import pytest

from moldau.controller.configs import MAX_SETTINGS, ConfigOperation
from moldau.errors import ErrorCode
from moldau.metadata.image import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    TOPIC_RESOURCE,
)
from moldau.protocol.messages import alter_configs as legacy
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.protocol.records.metadata import ClearElrRecord, ConfigRecord
from tests.controller.cluster import Cluster

SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
APPEND, SUBTRACT = ConfigOperation.APPEND, ConfigOperation.SUBTRACT


def resource(kind: int, name: str, *changes: tuple[str, int, str | None]) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            AlterableConfig(name=key, config_operation=operation, value=value)
            for key, operation, value in changes
        ],
    )


def alter(
    cluster: Cluster, *resources: AlterConfigsResource, validate_only: bool = False
) -> list[tuple[int, str]]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    outcome = cluster.controller.incremental_alter_configs(request)
    cluster.commit(outcome.records)
    return [(each.error_code, each.error_message or "") for each in outcome.response.responses]


def with_topic() -> Cluster:
    cluster = Cluster()
    cluster.must_create("river", retention_ms="1000")
    return cluster


def test_settings_are_set_and_deleted_one_by_one() -> None:
    cluster = with_topic()
    wanted = resource(
        TOPIC_RESOURCE, "river", ("flush.ms", SET, "5"), ("retention.ms", DELETE, None)
    )
    assert alter(cluster, wanted) == [(0, "")]
    assert cluster.image.config(TOPIC_RESOURCE, "river") == {"flush.ms": "5"}


def test_validate_only_writes_nothing() -> None:
    cluster = with_topic()
    wanted = resource(TOPIC_RESOURCE, "river", ("flush.ms", SET, "5"))
    assert alter(cluster, wanted, validate_only=True) == [(0, "")]
    assert cluster.image.config(TOPIC_RESOURCE, "river") == {"retention.ms": "1000"}


def test_the_controller_itself_accepts_settings_of_any_node_that_is_registered() -> None:
    """``kafka-configs --bootstrap-controller``: also for a broker that does not run."""
    cluster = Cluster(3)

    def direct(name: str, key: str, value: str) -> tuple[int, str]:
        request = IncrementalAlterConfigsRequest(
            resources=[resource(BROKER_RESOURCE, name, (key, SET, value))]
        )
        outcome = cluster.controller.incremental_alter_configs(request, received_by=-1)
        cluster.commit(outcome.records)
        (answer,) = outcome.response.responses
        return answer.error_code, answer.error_message or ""

    assert direct("2", "log.retention.ms", "1000") == (0, "")
    assert cluster.image.config(BROKER_RESOURCE, "2") == {"log.retention.ms": "1000"}
    assert direct("9", "log.retention.ms", "1000") == (102, "No node with id 9 found.")
    assert direct("x", "log.retention.ms", "1000")[0] == ErrorCode.INVALID_REQUEST
    # It does not know the directories of a broker, so it can only take some out.
    assert direct("2", "cordoned.log.dirs", "/a")[0] == ErrorCode.INVALID_CONFIG
    record = ConfigRecord(
        resource_type=BROKER_RESOURCE, resource_name="2", name="cordoned.log.dirs", value="/a, /b"
    )
    cluster.commit([record])
    assert direct("2", "cordoned.log.dirs", "/b,/c")[0] == ErrorCode.INVALID_CONFIG
    assert direct("2", "cordoned.log.dirs", "/b") == (0, "")
    assert direct("2", "cordoned.log.dirs", "") == (0, "")


def test_lists_grow_from_their_default_and_shrink() -> None:
    cluster = with_topic()
    grow = resource(TOPIC_RESOURCE, "river", ("cleanup.policy", APPEND, "compact,delete"))
    assert alter(cluster, grow) == [(0, "")]
    assert cluster.image.config(TOPIC_RESOURCE, "river")["cleanup.policy"] == "delete,compact"
    shrink = resource(TOPIC_RESOURCE, "river", ("cleanup.policy", SUBTRACT, "delete"))
    assert alter(cluster, shrink) == [(0, "")]
    assert cluster.image.config(TOPIC_RESOURCE, "river")["cleanup.policy"] == "compact"


@pytest.mark.parametrize(
    ("wanted", "code", "message"),
    [
        (resource(2, "river", ("flush.ms", APPEND, "1")), 40, "Can't APPEND to key flush.ms"),
        (resource(2, "river", ("no.such", SET, "1")), 40, "Unknown topic config name: no.such"),
        (resource(2, "river", ("flush.ms", SET, "soon")), 40, "flush.ms"),
        (resource(2, "river", ("flush.ms", 9, "1")), 42, "Unknown operations type 9"),
        (resource(2, "river", ("flush.ms", SET, None)), 42, "Null value not supported for : "),
        (
            resource(2, "river", ("flush.ms", SET, "1"), ("flush.ms", SET, "2")),
            42,
            "Error due to duplicate config keys",
        ),
        (resource(2, "lake", ("flush.ms", SET, "1")), 3, "The topic 'lake' does not exist."),
        (resource(2, "", ("flush.ms", SET, "1")), 42, "Default topic resources are not allowed."),
        (resource(2, "a/b", ("flush.ms", SET, "1")), 17, "Topic name is invalid"),
        (resource(3, "river"), 42, "Unknown resource type 3"),
        (resource(BROKER_LOGGER_RESOURCE, "1"), 42, "log levels"),
        (resource(4, "x", ("log.retention.ms", SET, "1")), 42, "Node id must be an integer"),
        (
            resource(4, "2", ("log.retention.ms", SET, "1")),
            42,
            "Unexpected broker id, expected 1, but received 2",
        ),
        (
            resource(4, "1", ("node.id", SET, "9")),
            42,
            "Cannot update these configs dynamically: [node.id]",
        ),
        (
            resource(4, "1", ("min.insync.replicas", SET, "2")),
            40,
            "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
        ),
        (
            resource(4, "", ("min.insync.replicas", DELETE, None)),
            40,
            "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        ),
        (resource(4, "", ("log.retention.ms", SET, "9" * 40_000)), 40, "maximum value size"),
        (resource(4, "", ("cordoned.log.dirs", SET, "*")), 42, "name a broker"),
        (resource(4, "1", ("cordoned.log.dirs", SET, "/else")), 42, "one of the log.dirs"),
        (resource(4, "1", ("cordoned.log.dirs", SET, "*,/x")), 42, "* must stand alone"),
        (resource(32, "", ("share.session.timeout.ms", SET, "1")), 42, "Default group resources"),
        (resource(32, "g", ("no.such", SET, "1")), 40, "Unknown group config name: no.such"),
        (
            resource(32, "g", ("consumer.session.timeout.ms", SET, "99999999")),
            40,
            "must be less than or equal to group.consumer.max.session.timeout.ms",
        ),
        (resource(32, "g", ("share.isolation.level", SET, "dirty")), 40, "must be one of"),
        (resource(32, "g", ("share.auto.offset.reset", SET, "by_duration:x")), 40, "by_duration"),
        (resource(16, "", ("interval.ms", SET, "100")), 42, "Subscription name can't be empty"),
        (resource(16, "m", ("nope", SET, "1")), 42, "Unknown client metrics configuration: nope"),
        (resource(16, "m", ("interval.ms", SET, "99")), 42, "must be between 100 and 3600000"),
        (resource(16, "m", ("match", SET, "colour=red")), 40, "Illegal client matching pattern"),
        (resource(16, "m", ("match", SET, "client_id=[")), 40, "Illegal client matching pattern"),
    ],
)
def test_what_cannot_be_set_says_why(wanted: AlterConfigsResource, code: int, message: str) -> None:
    cluster = with_topic()
    before = cluster.image
    [(actual_code, actual_message)] = alter(cluster, wanted)
    assert (actual_code, message in actual_message) == (code, True), actual_message
    assert cluster.image is before


def test_a_resource_with_more_settings_than_exist_is_refused() -> None:
    cluster = with_topic()
    changes = [(f"no-{number}", SET, "1") for number in range(MAX_SETTINGS + 1)]
    [(code, message)] = alter(cluster, resource(TOPIC_RESOURCE, "river", *changes))
    assert (code, message) == (
        ErrorCode.INVALID_REQUEST,
        "1001 settings of one resource are too many: at most 1000",
    )
    [(code, message)] = alter(cluster, resource(TOPIC_RESOURCE, "river", *changes[:-1]))
    assert code == ErrorCode.INVALID_CONFIG


def test_a_resource_is_changed_wholly_or_not_at_all() -> None:
    cluster = with_topic()
    wanted = resource(TOPIC_RESOURCE, "river", ("flush.ms", SET, "5"), ("no.such", SET, "1"))
    other = resource(BROKER_RESOURCE, "", ("log.retention.ms", SET, "77"))
    codes = [code for code, _ in alter(cluster, wanted, other)]
    assert codes == [ErrorCode.INVALID_CONFIG, ErrorCode.NONE]
    assert cluster.image.config(TOPIC_RESOURCE, "river") == {"retention.ms": "1000"}
    assert cluster.image.config(BROKER_RESOURCE, "")["log.retention.ms"] == "77"


def test_a_resource_named_twice_is_refused_both_times() -> None:
    wanted = resource(TOPIC_RESOURCE, "river", ("flush.ms", SET, "5"))
    message = "Each resource must appear at most once."
    assert alter(with_topic(), wanted, wanted) == [(ErrorCode.INVALID_REQUEST, message)] * 2


def test_a_topic_setting_that_stays_the_same_is_not_written_but_a_brokers_is() -> None:
    cluster = with_topic()
    same = resource(TOPIC_RESOURCE, "river", ("retention.ms", SET, "1000"))
    before = cluster.offset
    assert alter(cluster, same) == [(0, "")]
    assert cluster.offset == before
    reload = resource(BROKER_RESOURCE, "1", ("log.retention.ms", SET, "5"))
    alter(cluster, reload)
    assert alter(cluster, reload) == [(0, "")]
    assert cluster.offset == before + 2


def test_groups_and_client_metrics_have_settings_too() -> None:
    cluster = Cluster()
    group = resource(GROUP_RESOURCE, "g", ("consumer.session.timeout.ms", SET, "50000"))
    metrics = resource(
        CLIENT_METRICS_RESOURCE,
        "m",
        ("metrics", APPEND, "org.apache.kafka.producer."),
        ("interval.ms", SET, "5000"),
        ("match", SET, "client_id=app.*"),
    )
    assert alter(cluster, group, metrics) == [(0, ""), (0, "")]
    assert cluster.image.config(GROUP_RESOURCE, "g") == {"consumer.session.timeout.ms": "50000"}
    assert cluster.image.config(CLIENT_METRICS_RESOURCE, "m")["interval.ms"] == "5000"


def test_a_new_minimum_in_sync_clears_the_eligible_leaders() -> None:
    cluster = with_topic()
    request = IncrementalAlterConfigsRequest(
        resources=[
            resource(TOPIC_RESOURCE, "river", ("min.insync.replicas", SET, "2")),
            resource(BROKER_RESOURCE, "", ("min.insync.replicas", SET, "2")),
        ]
    )
    records = cluster.controller.incremental_alter_configs(request).records
    assert records[2:] == [ClearElrRecord(topic_name="river"), ClearElrRecord(topic_name="")]


def test_the_old_api_replaces_all_settings() -> None:
    cluster = with_topic()
    request = legacy.AlterConfigsRequest(
        resources=[
            legacy.AlterConfigsResource(
                resource_type=TOPIC_RESOURCE,
                resource_name="river",
                configs=[legacy.AlterableConfig(name="flush.ms", value="5")],
            )
        ]
    )
    outcome = cluster.controller.alter_configs(request)
    assert [each.error_code for each in outcome.response.responses] == [0]
    assert outcome.records == [
        ConfigRecord(resource_type=2, resource_name="river", name="flush.ms", value="5"),
        ConfigRecord(resource_type=2, resource_name="river", name="retention.ms", value=None),
    ]


def test_the_old_api_takes_no_null() -> None:
    request = legacy.AlterConfigsRequest(
        resources=[
            legacy.AlterConfigsResource(
                resource_type=TOPIC_RESOURCE,
                resource_name="river",
                configs=[legacy.AlterableConfig(name="flush.ms", value=None)],
            )
        ]
    )
    outcome = with_topic().controller.alter_configs(request)
    assert [each.error_code for each in outcome.response.responses] == [42]
