"""``moldau groups`` and ``moldau consume --group``."""

import json
from pathlib import Path

import pytest

from moldau.cli.errors import CommandError
from moldau.cli.group_reset import read_csv
from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin
from moldau.client.group_consumer import GroupConsumer
from moldau.client.producer import Producer
from moldau.ids import TopicPartition
from tests.cli.conftest import Moldau

BASE_MS = 1_700_000_000_000


@pytest.fixture
def filled(bootstrap: str, topic: str) -> str:
    """Two partitions: ten records a second apart in the first, four in the second."""
    with Admin(bootstrap) as admin:
        admin.create_topic(topic, 2)
    with Producer(bootstrap, linger_ms=0) as producer:
        for number in range(14):
            partition = number // 10
            timestamp = BASE_MS + 1000 * (number % 10)
            producer.send(topic, b"%d" % number, partition=partition, timestamp=timestamp)
            producer.flush()
    return topic


@pytest.fixture
def group(filled: str) -> str:
    return f"group-of-{filled}"


@pytest.fixture
def committed(bootstrap: str, filled: str, group: str) -> str:
    """A group without members, at offset 6 of the first partition."""
    with Admin(bootstrap) as admin:
        GroupAdmin(admin.cluster).alter_offsets(group, {TopicPartition(filled, 0): 6})
    return group


def offsets(bootstrap: str, group: str) -> dict[int, int]:
    with Admin(bootstrap) as admin:
        found = GroupAdmin(admin.cluster).offsets(group)
    return {partition.partition: each.offset for partition, each in found.items()}


def test_a_group_reads_on_where_it_left_off(moldau: Moldau, filled: str, group: str) -> None:
    first = moldau("consume", filled, "--group", group, "--from-beginning", "--max-messages", "9")
    rest = moldau("consume", filled, "--group", group, "--from-beginning", "--to-end")
    assert len(first.out.split()) == 9
    assert sorted(map(int, (first.out + rest.out).split())) == list(range(14))
    assert moldau("consume", filled, "--group", group, "--to-end").out == ""


def test_a_group_says_itself_what_it_reads(moldau: Moldau, topic: str) -> None:
    for option in ("--partition", "--offset", "--from-time"):
        wrong = moldau("consume", topic, "--group", "g", option, "1")
        assert (wrong.code, wrong.err) == (
            2,
            f"moldau: {option} cannot be used with --group, which assigns the partitions\n",
        )


def test_groups_are_listed(moldau: Moldau, committed: str) -> None:
    assert committed in moldau("groups", "list").out.splitlines()
    assert committed in moldau("groups", "list", "--state", "empty").out.splitlines()
    assert committed not in moldau("groups", "list", "--state", "Stable").out.splitlines()
    assert committed not in moldau("groups", "list", "--type", "consumer").out.splitlines()
    header, *rows = moldau("groups", "list", "--details").out.splitlines()
    assert header.split() == ["GROUP", "STATE", "TYPE", "PROTOCOL"]
    assert [committed, "Empty", "classic"] in [row.split() for row in rows]
    listed = json.loads(moldau("groups", "list", "--format", "json").out)
    assert {"group": committed, "state": "Empty", "type": "classic", "protocol_type": ""} in listed


def test_lag_is_shown_by_partition_and_in_total(
    moldau: Moldau, filled: str, committed: str
) -> None:
    lines = moldau("groups", "describe", committed).out.splitlines()
    assert lines[0] == f"{committed}: Empty, 0 members, total lag 4"
    assert lines[2].split()[:5] == ["TOPIC", "PARTITION", "COMMITTED", "END", "LAG"]
    assert [line.split() for line in lines[3:]] == [[filled, "0", "6", "10", "4", "-", "-", "-"]]
    (shown,) = json.loads(moldau("groups", "describe", committed, "--format", "json").out)
    assert (shown["state"], shown["total_lag"], shown["member_count"]) == ("Empty", 4, 0)
    (partition,) = shown["partitions"]
    assert (partition["committed_offset"], partition["end_offset"]) == (6, 10)


def test_members_are_shown_with_what_they_read(
    moldau: Moldau, bootstrap: str, filled: str, group: str
) -> None:
    with GroupConsumer(bootstrap, group, [filled], client_id="me") as consumer:
        while not consumer.is_member:
            consumer.poll(0.0)
        lines = moldau("groups", "members", group).out.splitlines()
        assert lines[0] == f"{group}: Stable, 1 member"
        assert "assignor range" in lines[1]
        assert lines[3].split() == [
            *(consumer.member_id, "-", "/127.0.0.1", "me", "2", f"{filled}(0,1)")
        ]
        (shown,) = json.loads(moldau("groups", "members", group, "--format", "json").out)
        assert shown["members"][0]["topics"] == [filled]
        described = moldau("groups", "describe", group).out
        assert f"{group}: Stable, 1 member, total lag 0" in described
        assert consumer.member_id in described
        refused = moldau(
            *("groups", "reset-offsets", group, "--topic", filled, "--to-earliest", "--execute")
        )
        assert refused.code == 1
        assert (
            "is Stable with 1 member: its offsets can be reset once they have left" in refused.err
        )
        assert "has members" in moldau("groups", "delete", group).err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--to-earliest",), {0: 0, 1: 0}),
        (("--to-latest",), {0: 10, 1: 4}),
        (("--to-current",), {0: 6, 1: 4}),
        (("--to-offset", "3"), {0: 3, 1: 3}),
        (("--to-offset", "7"), {0: 7, 1: 4}),
        (("--to-datetime", "2023-11-14T22:13:22.500"), {0: 3, 1: 3}),
        (("--to-datetime", "2023-11-14T22:13:26Z"), {0: 6, 1: 4}),
        (("--by-duration", "1h"), {0: 10, 1: 4}),
        (("--by-duration", "P9999D"), {0: 0, 1: 0}),
    ],
)
def test_offsets_are_reset(
    moldau: Moldau,
    bootstrap: str,
    filled: str,
    committed: str,
    options: tuple[str, ...],
    expected: dict[int, int],
) -> None:
    arguments = ("groups", "reset-offsets", committed, "--topic", filled, *options)
    planned = moldau(*arguments)
    assert "Nothing was changed; add --execute to apply." in planned.err
    assert offsets(bootstrap, committed) == {0: 6}
    done = moldau(*arguments, "--execute")
    assert done.code == 0
    assert done.out == planned.out
    assert done.out.splitlines()[0].split() == ["GROUP", "TOPIC", "PARTITION", "CURRENT", "NEW"]
    assert offsets(bootstrap, committed) == expected


@pytest.mark.parametrize(("by", "expected"), [("-2", 4), ("3", 9), ("99", 10), ("-99", 0)])
def test_offsets_are_shifted_within_what_is_there(
    moldau: Moldau, bootstrap: str, filled: str, committed: str, by: str, expected: int
) -> None:
    one = ("--topic", f"{filled}:0")
    moldau("groups", "reset-offsets", committed, *one, "--shift-by", by, "--execute")
    assert offsets(bootstrap, committed) == {0: expected}
    both = ("--topic", filled, "--shift-by", "1")
    assert (
        f"no committed offset to shift for {filled}-1"
        in moldau("groups", "reset-offsets", committed, *both).err
    )


def test_offsets_are_exported_and_read_back(
    moldau: Moldau, bootstrap: str, filled: str, committed: str, tmp_path: Path
) -> None:
    reset = ("groups", "reset-offsets", committed)
    exported = moldau(*reset, "--all-topics", "--to-current", "--export").out
    assert exported == f"{filled},0,6\n{filled},1,4\n"
    file = tmp_path / "offsets.csv"
    file.write_text(exported)
    moldau(*reset, "--all-topics", "--to-earliest", "--execute")
    assert offsets(bootstrap, committed) == {0: 0, 1: 0}
    assert moldau(*reset, "--from-file", str(file), "--execute").code == 0
    assert offsets(bootstrap, committed) == {0: 6, 1: 4}


def test_several_groups_are_exported_with_their_names(
    moldau: Moldau, filled: str, committed: str, tmp_path: Path
) -> None:
    other = f"{committed}-2"
    topic = ("--topic", f"{filled}:1")
    exported = moldau(
        "groups", "reset-offsets", committed, other, *topic, "--to-latest", "--export"
    ).out
    assert exported == f"{committed},{filled},1,4\n{other},{filled},1,4\n"
    file = tmp_path / "offsets.csv"
    file.write_text(exported)
    arguments = ("groups", "reset-offsets", committed, other, "--from-file", str(file))
    shown = json.loads(moldau(*arguments, "--execute", "--format", "json").out)
    assert [(each["group"], each["new_offset"]) for each in shown] == [(committed, 4), (other, 4)]


def test_offsets_and_groups_are_deleted(
    moldau: Moldau, bootstrap: str, filled: str, committed: str
) -> None:
    done = moldau("groups", "delete-offsets", committed, "--topic", f"{filled}:1")
    assert done.out == f"Deleted the offsets of group {committed} for 1 partition.\n"
    assert offsets(bootstrap, committed) == {0: 6}
    assert moldau("groups", "delete", committed).out == f"Deleted group {committed}.\n"
    assert committed not in moldau("groups", "list").out.splitlines()
    assert moldau("groups", "delete", committed, "--if-exists").code == 0
    missing = moldau("groups", "delete", committed)
    assert missing.err == f"moldau: group {committed} does not exist (GROUP_ID_NOT_FOUND)\n"
    missing = moldau("groups", "describe", committed)
    assert missing.err == f"moldau: there is no group {committed} (GROUP_ID_NOT_FOUND)\n"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("describe",), "groups describe: a group name is required"),
        (("reset-offsets", "g", "--to-latest"), "either --topic or --all-topics is required"),
        (
            ("reset-offsets", "g", "--to-latest", "--topic", "t", "--all-topics"),
            "either --topic or --all-topics is required",
        ),
        (
            ("reset-offsets", "g", "--topic", "TOPIC:x", "--to-latest"),
            "expected TOPIC or TOPIC:0,1",
        ),
        (("reset-offsets", "g", "--topic", "TOPIC:7", "--to-latest"), "has partitions 0 to 1"),
        (
            ("reset-offsets", "g", "--topic", "TOPIC", "--by-duration", "soon"),
            "--by-duration soon: expected a duration",
        ),
        (("reset-offsets", "g", "--topic", "TOPIC", "--to-datetime", "soon"), "is not a time"),
        (("describe", "g", "--all-groups"), "give group names or --all-groups, not both"),
    ],
)
def test_a_wrong_command_line_says_what_to_write(
    moldau: Moldau, filled: str, arguments: tuple[str, ...], problem: str
) -> None:
    wrong = moldau("groups", *(word.replace("TOPIC", filled) for word in arguments))
    assert wrong.code == 2
    assert problem in wrong.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("t,0\n", "line 1: expected topic,partition,offset"),
        ("t,0,5\n\nt,zero,5\n", "line 3: expected topic,partition,offset"),
        ("other,t,0,5\n", "contains no offsets of group g"),
    ],
)
def test_a_wrong_line_of_a_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "offsets.csv"
    path.write_text(text)
    with pytest.raises(CommandError, match=problem):
        read_csv(path, "g", is_only=True)
