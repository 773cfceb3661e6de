"""Options are Spark's own, and errors in them are reported in one line."""

import pickle

import pytest

from moldau.client.offsets import EARLIEST, LATEST
from moldau.ids import TopicPartition
from moldau.spark.errors import PipelineError
from moldau.spark.option_values import duration_ms
from moldau.spark.options import (
    COLUMNS,
    OffsetsSpec,
    OnNoMatch,
    SourceOptions,
    parse_source_options,
)

BASE = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}


def parse(is_streaming: bool = False, **options: str) -> SourceOptions:
    dotted = {name.replace("__", "."): value for name, value in options.items()}
    return parse_source_options({**BASE, **dotted}, is_streaming=is_streaming)


def test_little_is_needed_and_the_rest_is_as_in_spark() -> None:
    options = parse()
    assert options.client.bootstrap == "localhost:9092"
    assert options.client.fetch.read_committed
    assert options.subscription.topics == ("orders",)
    assert options.starting == OffsetsSpec(everywhere=EARLIEST)
    assert options.ending == OffsetsSpec(everywhere=LATEST)
    assert options.fail_on_data_loss
    assert options.columns == COLUMNS[:-1]
    assert parse(is_streaming=True).starting == OffsetsSpec(everywhere=LATEST)
    assert parse(is_streaming=True).max_trigger_delay_ms == 15 * 60 * 1000


def test_names_do_not_care_for_case_because_spark_hands_them_over_in_lower_case() -> None:
    assert parse(startingoffsets="earliest", includeheaders="TRUE").include_headers
    assert parse(STARTINGOFFSETS="earliest").starting.everywhere == EARLIEST


def test_offsets_by_partition_may_stand_for_the_ends() -> None:
    starting = parse(startingOffsets='{"b": {"0": 5}, "a": {"1": -2, "0": 7}}').starting
    assert starting.offsets == {
        TopicPartition("a", 0): 7,
        TopicPartition("a", 1): EARLIEST,
        TopicPartition("b", 0): 5,
    }


def test_times_go_before_times_by_partition_and_these_before_offsets() -> None:
    by_partition = '{"orders": {"0": 1000}}'
    offsets = {"startingOffsets": "earliest", "startingOffsetsByTimestamp": by_partition}
    assert parse(**offsets).starting.timestamps_ms == {TopicPartition("orders", 0): 1000}
    assert parse(**offsets, startingTimestamp="2000").starting == OffsetsSpec(timestamp_ms=2000)
    assert parse(endingTimestamp="3000").ending == OffsetsSpec(timestamp_ms=3000)
    assert parse(startingOffsetsByTimestampStrategy="latest").on_no_match is OnNoMatch.LATEST


def test_settings_of_the_client_are_followed_or_without_effect() -> None:
    options = parse(
        kafka__client__id="me",
        kafka__isolation__level="read_uncommitted",
        kafka__max__partition__fetch__bytes="1000",
        kafka__max__poll__records="5",
        kafka__ssl__truststore__location="nowhere",
        kafka__security__protocol="plaintext",
    )
    assert options.client.client_id == "me"
    assert not options.client.fetch.read_committed
    assert options.client.fetch.max_bytes == 1000


def test_security_settings_go_with_the_address() -> None:
    jaas = 'org.x.ScramLoginModule required username="alice" password="s3cr3t";'
    options = parse(
        kafka__security__protocol="SASL_SSL",
        kafka__sasl__mechanism="SCRAM-SHA-512",
        kafka__sasl__jaas__config=jaas,
        kafka__ssl__truststore__location="trusted.pem",
    )
    cluster = options.client.cluster()
    assert cluster.security.protocol == "SASL_SSL"
    assert cluster.security.login is not None
    assert cluster.security.login.user == "alice"
    assert cluster.security.tls is not None
    assert cluster.security.tls.truststore_location == "trusted.pem"
    # Options are shipped to tasks, and shown in errors.
    assert pickle.loads(pickle.dumps(options)) == options
    assert "s3cr3t" not in repr(options)


def test_columns_are_chosen_in_the_order_they_are_named() -> None:
    assert parse(columns="value, TimestampType ,offset").columns == (
        "value",
        "timestampType",
        "offset",
    )


@pytest.mark.parametrize(
    "text, expected", [("1500", 1500), ("30s", 30_000), ("15m", 900_000), ("2 h", 7_200_000)]
)
def test_durations_are_written_as_in_spark(text: str, expected: int) -> None:
    assert duration_ms(text) == expected


@pytest.mark.parametrize(
    "options, said",
    [
        ({"startingOfsets": "earliest"}, "no option startingofsets: did you mean startingOffsets?"),
        ({"zzz": "1"}, "no option zzz: there are assign, subscribe"),
        ({"assign": '{"a": [0]}'}, "there are subscribe and assign"),
        ({"subscribe": ""}, "says what to read: there is none"),
        ({"subscribe": ","}, "names no topic"),
        ({"subscribe": "", "subscribePattern": "("}, "subscribePattern=(: this is not a regular"),
        ({"subscribe": "", "assign": '{"a": [0, 0]}'}, 'write {"topic": [0, 1]} as JSON'),
        ({"subscribe": "", "assign": '{"a": ["0"]}'}, 'write {"topic": [0, 1]} as JSON'),
        ({"startingOffsets": "begin"}, "earliest or latest, or write"),
        ({"startingOffsets": '{"a": {"0": -3}}'}, "earliest or latest, or write"),
        ({"startingOffsets": '{"a": 3}'}, "earliest or latest, or write"),
        ({"startingOffsets": "latest"}, "where a batch query finds nothing"),
        ({"startingOffsets": '{"a": {"0": -1}}'}, "where a batch query finds nothing"),
        ({"endingOffsets": "earliest"}, "latest, or write"),
        ({"endingOffsets": '{"a": {"0": -2}}'}, "before which there is nothing"),
        ({"startingTimestamp": "yesterday"}, "milliseconds since 1970"),
        ({"startingOffsetsByTimestampStrategy": "now"}, "error or latest"),
        ({"failOnDataLoss": "maybe"}, "true or false"),
        ({"minPartitions": "0"}, "minPartitions=0: a number above 0"),
        ({"columns": "key,keys"}, "'keys' does not exist; there are key, value"),
        ({"columns": "key,key"}, "'key' is there twice"),
        ({"groupId": "g"}, "groupId is for streaming queries"),
        ({"maxOffsetsPerTrigger": "5"}, "maxOffsetsPerTrigger is for streaming queries"),
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers is missing"),
        ({"kafka.bootstrap.servers": "a:b"}, "'a:b' is not an address"),
        (
            {"kafka.security.protocol": "TLS"},
            "option kafka.security.protocol=TLS: must be one of PLAIN",
        ),
        ({"kafka.security.protocol": "SASL_SSL"}, "option kafka.sasl.mechanism is missing"),
        ({"kafka.ssl.truststore": "x"}, "kafka.ssl.truststore: Kafka's clients have no such"),
        ({"kafka.auto.offset.reset": "earliest"}, "cannot be set: use startingOffsets"),
        ({"kafka.isolation.level": "serializable"}, "read_committed or read_uncommitted"),
        ({"kafka.fetch.min.bytes": "x"}, "kafka.fetch.min.bytes=x: a number above 0"),
        ({"kafka.max.pol.records": "5"}, "there is no option kafka.max.pol.records"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(
    options: dict[str, str], said: str
) -> None:
    with pytest.raises(PipelineError) as failed:
        parse_source_options({**BASE, **options}, is_streaming=False)
    assert said in str(failed.value)
    assert "\n" not in str(failed.value)


@pytest.mark.parametrize(
    "options, said",
    [
        ({"endingOffsets": "latest"}, "endingOffsets is for batch queries"),
        ({"maxTriggerDelay": "soon"}, "write a duration such as 30s"),
        (
            {"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "5"},
            "minOffsetsPerTrigger=9 is above maxOffsetsPerTrigger=5",
        ),
    ],
)
def test_what_is_wrong_in_a_stream_is_said_too(options: dict[str, str], said: str) -> None:
    with pytest.raises(PipelineError, match=said):
        parse_source_options({**BASE, **options}, is_streaming=True)
