"""Wrong input of every kind: the message names the option, the value and what would be right."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Moldau

NOT_UTF8 = b"\xff\xfe,0,0\n"


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("topics", "list", "--request-timeout", "0"), "--request-timeout: 0: must be greater"),
        (("topics", "list", "--request-timeout", "-1"), "-1: must be greater than 0"),
        (("topics", "list", "--request-timeout", "nan"), "'nan' is not a number of seconds"),
        (("topics", "list", "--bootstrap-server", "h:x"), "--bootstrap-server: 'h:x' is not an"),
        (("topics", "list", "--bootstrap-server", ""), "--bootstrap-server: no broker is named"),
        (("topics", "create", "t", "--partitions", "0"), "--partitions: 0: must be 1 or greater"),
        (("topics", "create", "t", "--partitions", "x"), "'x' is not a whole number"),
        (("topics", "create", "t", "--replication-factor", "0"), "0: must be 1 or greater"),
        (("partitions", "reassign", "t", "--brokers", "1", "--throttle", "-5"), "-5: must be 1"),
        (("produce", "t", "--batch-size", "-5"), "--batch-size: -5: must be 1 or greater"),
        (("produce", "t", "--linger-ms", "-1"), "--linger-ms: -1: must be 0 or greater"),
        (("produce", "t", "--delivery-timeout", "0"), "0: must be greater than 0"),
        (("produce", "t", "--timestamp", "soon"), "--timestamp 'soon' is not a time"),
        (("consume", "t", "--timeout", "-1"), "--timeout: -1: must be 0 or greater"),
        (("groups", "list", "--state", "Foo"), "--state Foo: choose from PreparingRebalance"),
        (("groups", "list", "--type", "Foo"), "--type Foo: choose from classic, consumer"),
        (
            ("configs", "describe", "--topic", "t", "--entity-name", "u"),
            "--entity-name: goes with --entity-type",
        ),
        (
            ("configs", "describe", "--topic", "t", "--entity-default"),
            "--entity-default: goes with --entity-type",
        ),
        (
            ("partitions", "reassign", "t", "--replicas", "1", "--replication-factor", "1"),
            "--replication-factor goes with --brokers",
        ),
        (
            ("groups", "reset-offsets", "g", "--all-topics", "--to-latest", "--export")
            + ("--format", "json"),
            "--export prints CSV",
        ),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_a_wrong_option_is_named_with_its_value(
    moldau: Moldau, command: tuple[str, ...], problem: str
) -> None:
    wrong = moldau(*command)
    assert wrong.code == 2
    assert problem in wrong.err


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (("topics", "alter", "nope", "--partitions", "2"), "topic nope does not exist"),
        (("configs", "describe", "--topic", "nope"), "topic nope does not exist"),
        (("groups", "delete-offsets", "nope", "--topic", "T"), "group nope does not exist"),
        (("configs", "describe", "--topic", "T", "flush.mss"), "topic T has no setting flush.mss"),
        (
            ("configs", "alter", "--topic", "T", "--delete-config", "flush.mss"),
            "topic T has no setting flush.mss",
        ),
        (("configs", "alter", "--broker-defaults", "--delete-config", "nope"), "no setting nope"),
        (("configs", "describe", "--broker", "1", "nope"), "broker 1 has no setting nope"),
        (("partitions", "list", "--broker", "7"), "--broker 7: there is no such broker"),
        (("quorum", "remove-controller", "1"), "controller 1 is the only voter: add another"),
        (
            ("partitions", "reassign", "T", "--brokers", "1", "--replication-factor", "2"),
            "T-0 needs 2 brokers for its replicas, but only 1 is given",
        ),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_a_thing_that_is_not_there_is_named(
    moldau: Moldau, topic: str, command: tuple[str, ...], problem: str
) -> None:
    moldau("topics", "create", topic)
    wrong = moldau(*(topic if word == "T" else word for word in command))
    assert wrong.code == 1
    assert problem.replace("T-0", f"{topic}-0").replace("topic T", f"topic {topic}") in wrong.err


def test_settings_can_be_deleted_whether_they_are_set_or_not(moldau: Moldau, topic: str) -> None:
    moldau("topics", "create", topic, "--config", "flush.ms=9")
    changed = moldau("configs", "alter", "--topic", topic, "--delete-config", "flush.ms,segment.ms")
    assert changed.out == f"Changed flush.ms, segment.ms of topic {topic}.\n"


def test_states_and_types_may_be_in_any_case(moldau: Moldau) -> None:
    assert moldau("groups", "list", "--state", "stable,EMPTY", "--type", "Classic").code == 0


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("[1", "not JSON"),
        ("[]", "expected {"),
        ("{}", "expected {"),
        ('{"partitions": []}', "names no partitions"),
        ('{"version": 2, "partitions": []}', "version 2 is not supported, only 1"),
        (
            '{"partitions": [{}]}',
            "{} needs a topic, a partition (0 or greater) and a list of broker ids",
        ),
        ('{"partitions": [{"topic": "T", "partition": 0, "replicas": []}]}', "needs a topic"),
        ('{"partitions": [{"topic": "T", "partition": true, "replicas": [1]}]}', "needs a topic"),
        ('{"partitions": [{"topic": "T", "partition": 0, "replicas": ["a"]}]}', "needs a topic"),
        ('{"partitions": [{"topic": "T", "partition": 0, "replicas": [1, 1]}]}', "broker twice"),
        (
            '{"partitions": [{"topic": "T", "partition": 0, "replicas": [1], "log_dirs": ["/d"]}]}',
            "names log directories",
        ),
        (
            '{"partitions": [{"topic": "T", "partition": 0, "replicas": [1]},'
            ' {"topic": "T", "partition": 0, "replicas": [1]}]}',
            "T-0 is named twice",
        ),
    ],
)
def test_a_wrong_plan_of_reassignments_is_refused(
    moldau: Moldau, topic: str, tmp_path: Path, document: str, problem: str
) -> None:
    moldau("topics", "create", topic)
    plan = tmp_path / "plan.json"
    plan.write_text(document.replace('"T"', f'"{topic}"'))
    wrong = moldau("partitions", "reassign", "--reassignment-json-file", str(plan))
    assert wrong.code == 1
    assert wrong.err.startswith(f"moldau: {plan}: ")
    assert problem.replace("T-0", f"{topic}-0") in wrong.err
    assert "Error:" not in wrong.err


def test_a_plan_of_kafkas_own_tool_is_taken(moldau: Moldau, topic: str, tmp_path: Path) -> None:
    moldau("topics", "create", topic)
    plan = tmp_path / "plan.json"
    entry = {"topic": topic, "partition": 0, "replicas": [1], "log_dirs": ["any"]}
    plan.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    taken = moldau("partitions", "reassign", "--reassignment-json-file", str(plan))
    assert (taken.code, taken.err) == (0, "Every partition has these replicas already.\n")


@pytest.mark.parametrize(
    "command",
    [
        ("groups", "reset-offsets", "g", "--from-file", "FILE"),
        ("produce", "t", "--value-format", "avro:FILE"),
        ("sql", "-f", "FILE"),
        ("partitions", "reassign", "--reassignment-json-file", "FILE"),
    ],
    ids=" ".join,
)
def test_a_file_that_is_not_text_is_named(
    moldau: Moldau, tmp_path: Path, command: tuple[str, ...]
) -> None:
    file = tmp_path / "bytes"
    file.write_bytes(NOT_UTF8)
    wrong = moldau(*(word.replace("FILE", str(file)) for word in command))
    assert wrong.code == 1
    assert f"moldau: {file}: not UTF-8: invalid start byte at byte 0\n" == wrong.err


def test_a_topic_that_can_never_be_is_refused_with_the_rule(moldau: Moldau, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_text("a\n")
    wrong = moldau("produce", "bad name", "--file", str(lines))
    assert wrong.code == 1
    assert "topic bad name: not a valid topic name; use up to 249 ASCII letters" in wrong.err


def _run(
    bootstrap: str, *command: str, stdin: bytes | None = b"", **environment: str
) -> "subprocess.CompletedProcess[bytes]":
    """A process of its own; without ``stdin`` its standard input is closed."""
    return subprocess.run(
        [sys.executable, "-m", "moldau", *command, "--bootstrap-server", bootstrap],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
        preexec_fn=None if stdin is not None else lambda: os.close(0),
    )


def test_a_closed_standard_input_is_no_bug(bootstrap: str, topic: str) -> None:
    closed = _run(bootstrap, "produce", topic, stdin=None)
    assert closed.returncode == 1
    assert closed.stderr == (
        b"moldau: produce: standard input is closed; pipe lines into it, or use --file\n"
    )


def test_keys_and_headers_may_be_any_bytes(bootstrap: str, topic: str) -> None:
    text = os.fsdecode(b"\xff\xfe")
    produced = _run(bootstrap, "produce", topic, "--key", text, "--header", f"h={text}", stdin=b"v")
    assert produced.returncode == 0, produced.stderr
    consumed = _run(bootstrap, "consume", topic, "--from-beginning", "--to-end", "--format", "json")
    record = json.loads(consumed.stdout)
    assert (record["key_hex"], record["headers"]) == ("fffe", {"h": {"hex": "fffe"}})
    named = _run(bootstrap, "topics", "create", text)
    assert (named.returncode, named.stderr) == (1, b"moldau: '\\udcff\\udcfe' is not UTF-8\n")


def test_output_that_is_not_utf_8_escapes_the_rest(bootstrap: str, topic: str) -> None:
    moldau = ("groups", "reset-offsets", "gr\u00fc\u00dfe", "--topic", topic, "--to-latest")
    _run(bootstrap, "topics", "create", topic)
    shown = _run(bootstrap, *moldau, PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stdout.count(b"gr\\xfc\\xdfe")) == (0, 1)
    shown = _run(bootstrap, *moldau, "--format", "json", PYTHONIOENCODING="ascii")
    assert json.loads(shown.stdout)[0]["group"] == "gr\u00fc\u00dfe"


def test_a_member_leaves_its_group_on_sigterm(bootstrap: str, topic: str, moldau: Moldau) -> None:
    moldau("topics", "create", topic)
    group = f"{topic}-readers"
    reader = subprocess.Popen(
        [sys.executable, "-m", "moldau", "consume", topic, "--group", group]
        + ["--bootstrap-server", bootstrap]
    )
    try:
        deadline_s = time.monotonic() + 60
        while True:
            listed = json.loads(moldau("groups", "list", "--format", "json").out)
            if {"group": group, "state": "Stable"}.items() <= _of(listed, group).items():
                break
            assert time.monotonic() < deadline_s, listed
        reader.send_signal(signal.SIGTERM)
        assert reader.wait(60) == 0
    finally:
        reader.kill()
        reader.wait()
    (described,) = json.loads(moldau("groups", "describe", group, "--format", "json").out)
    assert (described["state"], described["member_count"]) == ("Empty", 0)


def _of(listed: list[dict[str, str]], group: str) -> dict[str, str]:
    return next((each for each in listed if each["group"] == group), {})
