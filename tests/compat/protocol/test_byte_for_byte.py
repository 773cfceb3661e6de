"""Every message and version against the classes in Apache Kafka's own jars.

Equal bytes in both directions say that the layouts are the same; equal names of fields say
that the bytes also mean the same; equal defaults, and equal refusals when a message is
written in a version that cannot carry all of it, say the same about the rest.
"""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.compat.protocol.kafka_messages import KafkaMessages, RefusedError, java_class
from tests.protocol.random_messages import (
    all_messages,
    every_version,
    message_class,
    random_message,
    versions_of,
)

from moldau.protocol.api import APIS
from moldau.protocol.generator.schema import Field, Struct
from moldau.protocol.header import encode_request_header, response_header

pytestmark = pytest.mark.compat
CONTENTS = 10


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaMessages]:
    folder = os.environ.get("KAFKA_DIR")
    if not folder or not Path(folder, "libs").is_dir():
        pytest.skip("KAFKA_DIR does not name an Apache Kafka installation")
    if shutil.which("java") is None or shutil.which("javac") is None:
        pytest.skip("no JDK (java and javac) on the PATH")
    with KafkaMessages(Path(folder)) as messages:
        yield messages


def kafka_class(name: str) -> str:
    module, message = all_messages()[name]
    return java_class(module, message)


def compare_every_version(
    what: str, capsys: pytest.CaptureFixture[str], check: Callable[[str, int], None]
) -> None:
    """Call ``check`` for every message and version; say how many passed, name the rest."""
    failures: list[str] = []
    total = 0
    for name, version in every_version():
        total += 1
        try:
            check(name, version)
        except (AssertionError, ValueError, RefusedError) as error:
            failures.append(f"{name} version {version}: {error}")
    with capsys.disabled():
        print(f"\n{what}: {total - len(failures)} of {total} messages and versions")
    assert failures == []


def test_kafka_reads_what_we_write_and_writes_the_same(
    kafka: KafkaMessages, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(name: str, version: int) -> None:
        rng = random.Random(f"{name} {version}")
        for _ in range(CONTENTS):
            encoded = random_message(name, version, rng).encode(version)
            assert kafka.recode(kafka_class(name), version, encoded) == encoded

    compare_every_version("encoded here, recoded by Kafka", capsys, check)


def test_we_read_what_kafka_writes_and_write_the_same(
    kafka: KafkaMessages, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(name: str, version: int) -> None:
        for seed in range(CONTENTS):
            encoded, _ = kafka.random(kafka_class(name), version, seed, 85, version)
            message, end = message_class(name).decode(encoded, 0, version)
            assert end == len(encoded)
            assert message.encode(version) == encoded

    compare_every_version("encoded by Kafka, recoded here", capsys, check)


def test_a_message_of_defaults_is_the_same(
    kafka: KafkaMessages, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(name: str, version: int) -> None:
        assert message_class(name)().encode(version) == kafka.default(kafka_class(name), version)

    compare_every_version("defaults", capsys, check)


def shape_of(struct: Struct, version: int) -> str:
    """What ``KafkaMessages.shape`` says, from our schema."""

    def one(field: Field) -> str:
        text = field.name.replace("_", "")
        if field.nullable is not None and version in field.nullable:
            text += "?"
        if field.struct is not None:
            text += f"[{shape_of(field.struct, version)}]"
        return text + " "

    present = [field for field in struct.fields if version in field.versions]
    tagged = sorted((f.tag, one(f)) for f in present if f.tag is not None)
    body = "".join(one(field) for field in present if field.tag is None)
    return body + "".join(f"{tag}={text}" for tag, text in tagged)


def test_fields_have_kafkas_names_and_tags(
    kafka: KafkaMessages, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(name: str, version: int) -> None:
        _, message = all_messages()[name]
        ours = shape_of(message.fields, version)
        assert ours == kafka.shape(kafka_class(name), version)

    compare_every_version("names of fields", capsys, check)


def test_a_message_that_a_version_cannot_carry_is_refused_as_kafka_refuses_it(
    kafka: KafkaMessages, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = 0

    def check(name: str, version: int) -> None:
        nonlocal refused
        source = versions_of(name)[-1]
        for seed in range(CONTENTS):
            # Few fields are set, so that some messages fit and some do not.
            percent = (10, 30, 60)[seed % 3]
            encoded, theirs = kafka.random(kafka_class(name), source, seed, percent, version)
            message, _ = message_class(name).decode(encoded, 0, source)
            try:
                ours = message.encode(version)
            except ValueError:
                ours = None
                refused += 1
            assert ours == theirs

    compare_every_version("converted to another version or refused", capsys, check)
    # Both answers must have been seen, or nothing was compared.
    assert 100 < refused < 7000


def test_headers_are_the_same(kafka: KafkaMessages) -> None:
    package = "org.apache.kafka.common.message"
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            header_version = 2 if api.is_flexible(version) else 1
            for client_id in (None, "", "größe"):
                ours = encode_request_header(api.key, version, 77, client_id)
                name = f"{package}.RequestHeaderData"
                assert kafka.recode(name, header_version, ours) == ours
            header_version = 1 if api.is_flexible(version) and api.key != 18 else 0
            ours = response_header(77, api.key, version)
            assert kafka.recode(f"{package}.ResponseHeaderData", header_version, ours) == ours
