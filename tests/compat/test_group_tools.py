"""kafka-consumer-groups and kafka-groups with all their options print what they print about Kafka.

The same steps are taken on Apache Kafka and on the broker under test, and every command is run
against both. Only names that are drawn (member ids) and the widths of columns may differ. Commands
that a tool refuses without asking a broker are left out: they say nothing about the broker.
"""

import re
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tools.brokers import ApacheKafkaBroker, Broker

from tests.compat.clients.members import (
    BROKER_SETTINGS,
    Kind,
    Member,
    MemberFactory,
    wait_for,
    wait_until_shared,
)
from tests.compat.clients.programs import UnavailableError, build_java
from tests.compat.group_reading import GroupTopic
from tests.compat.java_tools import Output, Toolbox

PARTITIONS = 3
RECORDS = 10

_DRAWN = [
    re.compile(r"\b[\w.]+-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
    re.compile(r"(?<![\w+/-])[\w+/-]{22}(?![\w+/-])"),
]
Command = Sequence[str | Path]


class Side:
    """One broker with a topic, groups of every kind, and a tool to look at them."""

    def __init__(self, broker: Broker, toolbox: Toolbox, suffix: str) -> None:
        self.bootstrap = broker.bootstrap
        self.suffix = suffix
        self.topic = GroupTopic(broker.bootstrap, f"rivers-{suffix}", PARTITIONS)
        self.topic.write(RECORDS)
        self.other = GroupTopic(broker.bootstrap, f"lakes-{suffix}", 1)
        self.other.write(RECORDS)
        self._toolbox = toolbox

    def group(self, kind: str) -> str:
        return f"{kind}-{self.suffix}"

    def start_members(self, members: MemberFactory) -> None:
        """A group of each protocol with one member that has read everything, and one without."""
        protocols = {"classic": "classic", "consumer": "consumer", "left": "classic"}
        started: dict[str, Member] = {}
        for name, protocol in protocols.items():
            kind = Kind("confluent-kafka", protocol)
            where = (self.bootstrap, self.group(name), self.topic.name)
            started[name] = members.start(kind, *where)
        for name, member in started.items():
            wait_until_shared([member], PARTITIONS)
            self._wait_until_committed(self.group(name))
        started["left"].leave()

    def _wait_until_committed(self, group: str) -> None:
        wait_for(
            lambda: self.topic.committed(group) == self.topic.ends,
            lambda: self.topic.committed(group),
        )

    def run(self, tool: str, *arguments: str | Path) -> Output:
        return self._toolbox.run(tool, "--bootstrap-server", self.bootstrap, *arguments)

    def said(self, command: Command, output: Output) -> list[str]:
        """What a tool printed, without what has to differ, and without other tests' groups."""
        shows_all = "--list" in command or "--all-groups" in command
        others = self._other_groups() if shows_all else []
        lines = []
        for line in output.both.splitlines():
            words = " ".join(line.split())
            is_trace = line.startswith(("\tat ", "\t...", "Caused by: "))
            if not words or is_trace or any(other in words for other in others):
                continue
            for drawn in _DRAWN:
                words = drawn.sub("<id>", words)
            lines.append(words.replace(self.bootstrap, "<broker>"))
        # Tables are printed in the order of hashes, with their header once for each group.
        return [f"exit {output.status}", *sorted(set(lines))]

    def _other_groups(self) -> list[str]:
        listed = self.run(Toolbox.GROUPS, "--list").lines[1:]
        return [line.split()[0] for line in listed if self.suffix not in line]


@pytest.fixture(scope="module")
def toolbox(program_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toolbox]:
    folder = tmp_path_factory.mktemp("toolbox")
    try:
        command = build_java(program_dir, "Tools")
    except UnavailableError as reason:
        pytest.skip(str(reason))
    box = Toolbox(command, folder / "tools.log")
    yield box
    box.close()


class Both:
    """Apache Kafka, the broker under test, and a comparison of what tools say about them."""

    def __init__(self, theirs: Side, ours: Side) -> None:
        self.theirs = theirs
        self.ours = ours

    def group(self, kind: str) -> str:
        return self.ours.group(kind)

    @property
    def topic(self) -> str:
        return self.ours.topic.name

    @property
    def other_topic(self) -> str:
        return self.ours.other.name

    def compare(self, tool: str, commands: Sequence[Command]) -> None:
        """Each command in turn on both; what they print must be the same."""
        for command in commands:
            expected = self.theirs.said(command, self.theirs.run(tool, *command))
            actual = self.ours.said(command, self.ours.run(tool, *command))
            assert actual == expected, command


@pytest.fixture(scope="module")
def brokers(
    broker_kind: type[Broker], toolbox: Toolbox, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Broker, Broker]]:
    """Apache Kafka and the broker under test, where nobody else keeps groups.

    A tool that shows all groups fails as a whole where one of them has read a topic that is gone.
    """
    folder = tmp_path_factory.mktemp("group-tools")
    with (
        ApacheKafkaBroker(folder / "theirs", BROKER_SETTINGS) as theirs,
        broker_kind(folder / "ours", BROKER_SETTINGS) as ours,
    ):
        yield theirs, ours


@pytest.fixture(scope="module")
def quiet(brokers: tuple[Broker, Broker], toolbox: Toolbox) -> Both:
    """Brokers on which nobody is reading."""
    suffix = uuid.uuid4().hex[:6]
    return Both(*(Side(broker, toolbox, suffix) for broker in brokers))


@pytest.fixture(scope="module")
def busy(
    brokers: tuple[Broker, Broker], toolbox: Toolbox, member_factory: MemberFactory
) -> Iterator[Both]:
    """Brokers with groups in use; the members go on for as long as the module's tests."""
    suffix = uuid.uuid4().hex[:6]
    sides = [Side(broker, toolbox, suffix) for broker in brokers]
    members = MemberFactory(member_factory.build_dir, member_factory.log_dir)
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda side: side.start_members(members), sides))
    yield Both(*sides)
    members.end_all()


def test_groups_are_listed(busy: Both) -> None:
    busy.compare(
        Toolbox.CONSUMER_GROUPS,
        [
            ("--list",),
            ("--list", "--state"),
            ("--list", "--state", "Stable"),
            ("--list", "--state", "stable, empty"),
            ("--list", "--state", "PreparingRebalance,Assigning"),
            ("--list", "--type"),
            ("--list", "--type", "consumer"),
            ("--list", "--type", "Classic,consumer"),
            ("--list", "--state", "--type"),
            ("--list", "--state", "Stable", "--type", "classic"),
            ("--list", "--timeout", "10000"),
        ],
    )
    busy.compare(
        Toolbox.GROUPS,
        [
            ("--list",),
            ("--list", "--consumer"),
            ("--list", "--share"),
            ("--list", "--streams"),
            ("--list", "--group-type", "classic"),
            ("--list", "--group-type", "consumer"),
            ("--list", "--group-type", "share"),
            ("--list", "--protocol", "consumer"),
            ("--list", "--protocol", "connect"),
            ("--list", "--group-type", "classic", "--protocol", "consumer"),
        ],
    )


def test_groups_in_use_are_described(busy: Both) -> None:
    ways: list[Command] = [
        (),
        ("--offsets",),
        ("--offsets", "--verbose"),
        ("--members",),
        ("--members", "--verbose"),
        ("--state",),
        ("--state", "--verbose"),
        ("--verbose",),
    ]
    for kind in ("classic", "consumer", "left", "absent"):
        one = ("--describe", "--group", busy.group(kind))
        busy.compare(Toolbox.CONSUMER_GROUPS, [(*one, *way) for way in ways])
    two = ("--group", busy.group("classic"), "--group", busy.group("consumer"))
    busy.compare(Toolbox.CONSUMER_GROUPS, [("--describe", *two)])
    everything = [("--describe", "--all-groups", *way) for way in ways]
    busy.compare(Toolbox.CONSUMER_GROUPS, everything)


def test_groups_in_use_are_left_alone(busy: Both) -> None:
    for kind in ("classic", "consumer"):
        group = ("--group", busy.group(kind))
        reset = ("--reset-offsets", *group, "--to-earliest")
        busy.compare(
            Toolbox.CONSUMER_GROUPS,
            [
                ("--delete", *group),
                (*reset, "--topic", busy.topic, "--execute"),
                (*reset, "--all-topics", "--dry-run"),
                ("--delete-offsets", *group, "--topic", busy.topic),
                ("--delete-offsets", *group, "--topic", f"{busy.topic}:0"),
            ],
        )


def test_offsets_are_reset_in_every_way(quiet: Both, tmp_path: Path) -> None:
    group = quiet.group("reset")
    topic = ("--topic", quiet.topic)
    some = ("--topic", f"{quiet.topic}:0,2")
    both = (*topic, "--topic", quiet.other_topic)
    plan = tmp_path / "plan.csv"
    plan.write_text(f"{quiet.topic},0,4\n{quiet.topic},2,99\n{quiet.other_topic},0,1\n")
    many = tmp_path / "many.csv"
    many.write_text(f"{group},{quiet.topic},1,5\n{group}-too,{quiet.topic},0,6\n")
    broken = tmp_path / "broken.csv"
    broken.write_text("nonsense\n")
    ways: list[Command] = [
        (*topic, "--to-latest"),
        (*topic, "--to-latest", "--dry-run"),
        (*topic, "--to-latest", "--export"),
        (*topic, "--to-current", "--dry-run"),
        (*topic, "--to-offset", "4", "--execute"),
        (*some, "--to-offset", "99", "--execute"),
        (*topic, "--to-offset", "-1", "--execute"),
        (*topic, "--shift-by", "-3", "--execute"),
        (*topic, "--shift-by", "100", "--dry-run"),
        (*topic, "--shift-by", "-100", "--execute"),
        (*both, "--to-earliest", "--execute"),
        (*both, "--to-latest", "--execute", "--export"),
        ("--all-topics", "--to-current", "--dry-run"),
        ("--all-topics", "--to-earliest", "--execute"),
        (*topic, "--by-duration", "PT1H", "--dry-run"),
        (*topic, "--by-duration", "PT0S", "--execute"),
        (*topic, "--by-duration", "nonsense", "--dry-run"),
        (*topic, "--to-datetime", "2000-01-01T00:00:00.000", "--execute"),
        (*topic, "--to-datetime", "2000-01-01T00:00:00.000+0100", "--dry-run"),
        (*topic, "--to-datetime", "2099-01-01T00:00:00Z", "--dry-run"),
        (*topic, "--to-datetime", "yesterday", "--dry-run"),
        ("--from-file", plan),
        ("--from-file", plan, "--dry-run"),
        ("--from-file", plan, "--execute"),
        ("--from-file", plan, "--execute", "--export"),
        ("--from-file", broken, "--dry-run"),
        ("--topic", "absent", "--to-latest", "--dry-run"),
        ("--topic", f"{quiet.topic}:9", "--to-latest", "--dry-run"),
    ]
    for way in ways:
        quiet.compare(Toolbox.CONSUMER_GROUPS, [("--reset-offsets", "--group", group, *way)])
        if "--execute" in way:
            assert quiet.ours.topic.committed(group) == quiet.theirs.topic.committed(group), way
    quiet.compare(
        Toolbox.CONSUMER_GROUPS,
        [
            ("--reset-offsets", "--group", group, "--group", f"{group}-too", *topic)
            + ("--to-offset", "2", "--execute"),
            ("--reset-offsets", "--group", group, "--group", f"{group}-too")
            + ("--from-file", many, "--execute"),
            ("--reset-offsets", "--group", group, "--group", f"{group}-too", *topic)
            + ("--to-current", "--export"),
            ("--describe", "--group", group),
            ("--describe", "--group", f"{group}-too", "--offsets", "--verbose"),
            ("--describe", "--group", f"{group}-too", "--members"),
            ("--describe", "--group", f"{group}-too", "--state"),
        ],
    )


def test_offsets_and_groups_are_deleted(quiet: Both) -> None:
    group, other = quiet.group("deleted"), quiet.group("deleted-too")
    for name in (group, other):
        reset = ("--reset-offsets", "--group", name, "--topic", quiet.topic, "--topic")
        command = (*reset, quiet.other_topic, "--to-latest", "--execute")
        quiet.compare(Toolbox.CONSUMER_GROUPS, [command])
    scope = ("--delete-offsets", "--group", group)
    quiet.compare(
        Toolbox.CONSUMER_GROUPS,
        [
            (*scope, "--topic", f"{quiet.topic}:0"),
            (*scope, "--topic", f"{quiet.topic}:0,9"),
            (*scope, "--topic", quiet.topic, "--topic", quiet.other_topic),
            (*scope, "--topic", "absent"),
            ("--delete-offsets", "--group", quiet.group("absent"), "--topic", quiet.topic),
            ("--describe", "--group", group),
            ("--delete", "--group", quiet.group("absent")),
            ("--delete", "--group", group, "--group", quiet.group("absent")),
            ("--delete", "--group", other),
            ("--delete", "--group", other),
            ("--describe", "--group", other),
            ("--list",),
        ],
    )


def test_a_configuration_is_used(quiet: Both, tmp_path: Path) -> None:
    config = tmp_path / "admin.properties"
    config.write_text("client.id=compat\ndefault.api.timeout.ms=20000\n")
    command = ("--list", "--command-config", config)
    quiet.compare(Toolbox.CONSUMER_GROUPS, [command])
    quiet.compare(Toolbox.GROUPS, [command])


def test_a_group_without_a_name_is_shown(quiet: Both) -> None:
    """Consumers of long ago committed under an empty name."""
    named = ("--reset-offsets", "--group", "", "--topic", quiet.topic, "--to-latest", "--execute")
    quiet.compare(
        Toolbox.CONSUMER_GROUPS,
        [named, ("--describe", "--group", ""), ("--delete", "--group", "")],
    )
