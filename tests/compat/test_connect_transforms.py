"""Random records through every stock transform and predicate, in Kafka's own classes and in ours.

Both give the same record (schemas, classes of values and headers included), the same answer, or
both refuse. Three differences are meant, and left out: timestamps outside the years 1 to 9999,
which Python does not have; a Date, Time and Timestamp, which are one class in Java, put into each
other's field by a rename; and constructs of regular expressions and patterns that are refused by
name.
"""

import json
import os
import random
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau.connect.data.errors import ConnectError
from moldau.connect.data.record import ConnectRecord
from moldau.connect.plugins import Plugins
from tests.compat.clients.programs import UnavailableError, build_java
from tests.compat.connect_java import call_record, calls, plain_record
from tests.compat.transform_samples import CONFIGS, record

PACKAGE = "org.apache.kafka.connect.transforms."
RECORDS = int(os.environ.get("TRANSFORM_RECORDS", "2000"))
SEED = os.environ.get("TRANSFORM_SEED", "16")
# A transform is configured once for so many records: its caches of schemas are tested as well.
RECORDS_PER_CONFIG = 8
MEANT = (
    "outside the years 1 to 9999",
    "not of Date",
    "not of Time",
    "is not supported (at ",
    "counts weeks",
    "names no date",
)
PLUGINS = Plugins()


def classes() -> Iterator[tuple[str, str]]:
    """The class names, and the names of their samples."""
    listed = PLUGINS.list(connectors_only=False)
    for name in sorted(plugin["class"] for plugin in listed):
        if name.startswith(PACKAGE):
            yield name, name.removeprefix(PACKAGE).partition("$")[0]


@pytest.fixture(scope="module")
def records() -> list[tuple[ConnectRecord, dict[str, Any]]]:
    """The records, and their form in calls."""
    rng = random.Random(SEED)
    made = (record(rng) for _ in range(RECORDS))
    return [(each, call_record(each)) for each in made]


def ours(
    operation: str, name: str, config: dict[str, str], each: ConnectRecord, made: dict[str, Any]
) -> Any:
    """The answer in the form of the Java program's, or the error."""
    try:
        if str(config) not in made:
            plugin = (PLUGINS.transform if operation == "transform" else PLUGINS.predicate)(name)()
            plugin.configure(config)
            made[str(config)] = plugin
        if operation == "predicate":
            return {"answer": made[str(config)].test(each)}
        result = made[str(config)].apply(each)
        return {"record": plain_record(result) if result is not None else None}
    except ConnectError as error:
        return error


@pytest.mark.parametrize(("name", "sample"), list(classes()))
def test_random_records_come_out_as_from_apache_kafka(
    name: str, sample: str, records: list[tuple[ConnectRecord, dict[str, Any]]], program_dir: Path
) -> None:
    rng = random.Random(SEED + name)
    operation = "predicate" if "predicates." in name else "transform"
    configs = [CONFIGS[sample](rng) for _ in range(RECORDS // RECORDS_PER_CONFIG + 1)]
    chosen = [configs[index // RECORDS_PER_CONFIG] for index in range(RECORDS)]
    asked = (
        {"op": operation, "class": name, "config": config, "record": plain}
        for config, (_, plain) in zip(chosen, records, strict=True)
    )
    try:
        answers = calls(program_dir, asked)
    except UnavailableError as reason:
        pytest.skip(str(reason))

    made: dict[str, Any] = {}
    seen: Counter[str] = Counter()
    for config, (each, _), theirs in zip(chosen, records, answers, strict=True):
        if theirs.get("error") == "java.lang.StackOverflowError":
            # The default that Kafka's TimestampConverter makes has itself as default: no converter
            # can write it, nor can the Java program. Ours has none.
            continue
        mine = ours(operation, name, config, each, made)
        if isinstance(mine, ConnectError):
            is_meant = any(words in str(mine) for words in MEANT)
            assert "error" in theirs or is_meant, f"{config} of {each}: {mine!r}, not {theirs}"
            seen["error" if "error" in theirs else "meant"] += 1
            seen["same class"] += theirs.get("error") == mine.java_class
        else:
            assert mine == theirs, f"{config} of {each}"
            seen["equal"] += 1
    assert seen["equal"] > RECORDS / 5, seen
    assert seen["meant"] < RECORDS / 10, seen
    # Dead letters carry the class of the exception. A record with two faults may be refused for the
    # other one, and a wrong pattern of TimestampRouter is an error of its config.
    least = 0.6 if sample == "TimestampRouter" else 0.98
    assert seen["same class"] >= seen["error"] * least, seen


def test_options_are_described_as_by_apache_kafka(program_dir: Path) -> None:
    """The documentation is our own; everything else of an option is the same."""
    names = [name for name, _ in classes()]
    try:
        command = build_java(program_dir, "ConnectOptions")
    except UnavailableError as reason:
        pytest.skip(str(reason))
    done = subprocess.run([*command, *names], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    for name, line in zip(names, done.stdout.splitlines(), strict=True):
        find = PLUGINS.predicate if "predicates." in name else PLUGINS.transform
        mine, theirs = find(name).config.to_json(), json.loads(line)
        assert all(option["documentation"] for option in mine)
        for option in (*mine, *theirs):
            del option["documentation"]
        assert mine == theirs, name
