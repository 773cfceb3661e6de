"""List, describe and delete consumer groups, and reset their offsets.

moldau groups list --details
moldau groups describe billing
moldau groups members billing --format json
moldau groups reset-offsets billing --topic orders --to-earliest
moldau groups reset-offsets billing --all-topics --shift-by -100 --execute
moldau groups reset-offsets billing --all-topics --to-current --export > b.csv
moldau groups delete-offsets billing --topic orders
moldau groups delete billing
"""

import argparse
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from moldau.cli import group_reset
from moldau.cli.admin_command import add_admin_verb, admin_of
from moldau.cli.errors import UsageError
from moldau.cli.output import (
    add_format,
    plural,
    print_json,
    print_table,
)
from moldau.client.cluster import Cluster
from moldau.client.group_admin import GroupAdmin, GroupDescription, GroupMember
from moldau.client.offsets import LATEST, list_offsets
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition

_STATES: Final = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "Stable",
    "Empty",
    "Dead",
    "NotReady",
)
_TYPES: Final = ("classic", "consumer", "share", "streams")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    listing = _verb(verbs, "list", "list the groups", _list, takes_groups=False)
    listing.add_argument(
        "--state", metavar="S,S", help="only groups in these states: Stable, Empty, ..."
    )
    listing.add_argument("--type", metavar="T,T", help="only these types: classic, consumer")
    listing.add_argument("--details", action="store_true", help="show a table, not only names")
    add_format(listing)

    describe = _verb(verbs, "describe", "show the state, offsets and lag of groups", _describe)
    describe.add_argument("--all-groups", action="store_true", help="all groups")
    add_format(describe)

    members = _verb(verbs, "members", "show the members of groups and their assignments", _members)
    members.add_argument("--all-groups", action="store_true", help="all groups")
    add_format(members)

    reset = _verb(verbs, "reset-offsets", "reset the offsets of groups", _reset)
    group_reset.add_arguments(reset)
    add_format(reset)

    forget = _verb(
        verbs, "delete-offsets", "delete the committed offsets of topics", _delete_offsets
    )
    forget.add_argument(
        "--topic",
        metavar="TOPIC[:N,N]",
        action="append",
        required=True,
        help="a topic, or some of its partitions",
    )

    delete = _verb(verbs, "delete", "delete groups that have no members", _delete)
    delete.add_argument(
        "--if-exists", action="store_true", help="succeed if the group does not exist"
    )


def _verb(verbs: Any, name: str, meaning: str, action: Any, *, takes_groups: bool = True) -> Any:
    parser = add_admin_verb(verbs, name, meaning, action)
    if takes_groups:
        parser.add_argument("groups", nargs="*", metavar="GROUP", help="names of groups")
        parser.add_argument("--group", metavar="GROUP", action="append", help=argparse.SUPPRESS)
    return parser


def run(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        options.action(admin.cluster, options)
    return 0


def _groups(options: argparse.Namespace) -> list[str]:
    """The groups given as arguments, or with ``--group`` as in Kafka's tools."""
    names = [*options.groups, *(options.group or [])]
    if not names:
        raise UsageError(f"groups {options.verb}: a group name is required")
    return list(dict.fromkeys(names))


def _described(groups: GroupAdmin, options: argparse.Namespace) -> list[GroupDescription]:
    if not options.all_groups:
        return [groups.describe(name) for name in _groups(options)]
    if options.groups or options.group:
        raise UsageError(f"groups {options.verb}: give group names or --all-groups, not both")
    return [groups.describe(each.group_id) for each in groups.list_groups()]


def _list(cluster: Cluster, options: argparse.Namespace) -> None:
    listed = GroupAdmin(cluster).list_groups(
        states=_words("--state", options.state, _STATES),
        types=_words("--type", options.type, _TYPES),
    )
    if options.format == "json":
        print_json(
            [
                {
                    "group": each.group_id,
                    "state": each.state,
                    "type": each.type,
                    "protocol_type": each.protocol_type,
                }
                for each in listed
            ]
        )
    elif options.details:
        rows = [(each.group_id, each.state, each.type, each.protocol_type) for each in listed]
        print_table(("GROUP", "STATE", "TYPE", "PROTOCOL"), rows)
    else:
        for each in listed:
            print(each.group_id)


def _words(option: str, text: str | None, known: Sequence[str]) -> list[str]:
    """The words in a list, which may be in upper or lower case. Raises UsageError."""
    words = [word.strip() for word in (text or "").split(",") if word.strip()]
    for word in words:
        if word.lower() not in map(str.lower, known):
            raise UsageError(f"{option} {word}: choose from {', '.join(known)}")
    return words


class PartitionLag(NamedTuple):
    """The progress of a group in one partition; None for what is unknown."""

    partition: TopicPartition
    committed: int | None
    end: int | None
    reader: GroupMember | None

    @property
    def lag(self) -> int | None:
        if self.committed is None or self.end is None:
            return None
        return max(self.end - self.committed, 0)


def partition_lags(cluster: Cluster, group: GroupDescription) -> list[PartitionLag]:
    """Every partition with a committed offset of the group, or assigned to a member."""
    committed = GroupAdmin(cluster).offsets(group.group_id)
    readers = {partition: member for member in group.members for partition in member.assignment}
    wanted = sorted({*committed, *readers})
    cluster.refresh(None)
    existing = [
        each
        for each in wanted
        if each.topic in cluster.topics
        and each.partition < len(cluster.topics[each.topic].partitions)
    ]
    ends = list_offsets(cluster, dict.fromkeys(existing, LATEST))
    return [
        PartitionLag(
            each,
            committed[each].offset if each in committed else None,
            ends[each].offset if each in ends else None,
            readers.get(each),
        )
        for each in wanted
    ]


def _describe(cluster: Cluster, options: argparse.Namespace) -> None:
    described = _described(GroupAdmin(cluster), options)
    if options.format == "json":
        print_json([_as_json(group, partition_lags(cluster, group)) for group in described])
        return
    for index, group in enumerate(described):
        if index:
            print()
        _print_group(group, partition_lags(cluster, group))


def _as_json(group: GroupDescription, lags: list[PartitionLag]) -> dict[str, Any]:
    return {
        **_summary(group),
        "total_lag": sum(each.lag or 0 for each in lags),
        "partitions": [
            {
                "topic": each.partition.topic,
                "partition": each.partition.partition,
                "committed_offset": each.committed,
                "end_offset": each.end,
                "lag": each.lag,
                "member": each.reader.member_id if each.reader else None,
                "instance": each.reader.instance_id if each.reader else None,
                "host": each.reader.host if each.reader else None,
                "client_id": each.reader.client_id if each.reader else None,
            }
            for each in lags
        ],
    }


def _print_group(group: GroupDescription, lags: list[PartitionLag]) -> None:
    total = sum(each.lag or 0 for each in lags)
    print(
        f"{group.group_id}: {group.state}, {plural(len(group.members), 'member')}, "
        f"total lag {total}"
    )
    print(f"  {_kind(group)}")
    header = ("TOPIC", "PARTITION", "COMMITTED", "END", "LAG", "MEMBER", "HOST", "CLIENT")
    rows = [
        (
            each.partition.topic,
            each.partition.partition,
            each.committed,
            each.end,
            each.lag,
            each.reader.member_id if each.reader else None,
            each.reader.host if each.reader else None,
            each.reader.client_id if each.reader else None,
        )
        for each in lags
    ]
    if rows:
        print_table(header, rows, indent="  ")


def _kind(group: GroupDescription) -> str:
    """For example ``type Consumer, assignor uniform, coordinator 1, epoch 3``."""
    parts = [f"type {group.type}"]
    if group.protocol_type and group.protocol_type != "consumer":
        parts.append(f"protocol {group.protocol_type}")
    if group.assignor:
        parts.append(f"assignor {group.assignor}")
    parts.append(f"coordinator {group.coordinator}")
    if group.epoch is not None:
        parts.append(f"epoch {group.epoch}, assignment epoch {group.assignment_epoch}")
    return ", ".join(parts)


def _members(cluster: Cluster, options: argparse.Namespace) -> None:
    described = _described(GroupAdmin(cluster), options)
    if options.format == "json":
        print_json(
            [
                {**_summary(group), "members": [_member(m) for m in group.members]}
                for group in described
            ]
        )
        return
    for index, group in enumerate(described):
        if index:
            print()
        print(f"{group.group_id}: {group.state}, {plural(len(group.members), 'member')}")
        print(f"  {_kind(group)}")
        if group.members:
            _print_members(group)


def _print_members(group: GroupDescription) -> None:
    header = ["MEMBER", "INSTANCE", "HOST", "CLIENT", "PARTITIONS", "ASSIGNMENT"]
    rows: list[list[object]] = [
        [
            each.member_id,
            each.instance_id,
            each.host,
            each.client_id,
            len(each.assignment),
            _short(each.assignment),
        ]
        for each in group.members
    ]
    if group.epoch is not None:
        header += ["EPOCH", "TARGET"]
        for row, each in zip(rows, group.members, strict=True):
            # The target is shown only while the assignment differs from it.
            is_there = each.target is None or each.target == each.assignment
            row += [each.epoch, None if is_there else _short(each.target or [])]
    print_table(header, rows, indent="  ")


def _short(partitions: list[TopicPartition]) -> str | None:
    """``orders(0,1) payments(3)``."""
    topics: dict[str, list[str]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(str(partition))
    return " ".join(f"{topic}({','.join(numbers)})" for topic, numbers in topics.items()) or None


def _summary(group: GroupDescription) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "group": group.group_id,
        "type": group.type,
        "state": group.state,
        "protocol_type": group.protocol_type,
        "assignor": group.assignor,
        "coordinator": group.coordinator,
        "member_count": len(group.members),
    }
    if group.epoch is not None:
        summary |= {"epoch": group.epoch, "assignment_epoch": group.assignment_epoch}
    return summary


def _member(member: GroupMember) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "member": member.member_id,
        "instance": member.instance_id,
        "host": member.host,
        "client_id": member.client_id,
        "topics": member.topics,
        "assignment": _json_partitions(member.assignment),
    }
    if member.epoch is not None:
        shown |= {
            "epoch": member.epoch,
            "target": _json_partitions(member.target or []),
            "topic_regex": member.topic_regex,
            "protocol": "classic" if member.is_classic else "consumer",
        }
    return shown


def _json_partitions(partitions: list[TopicPartition]) -> list[dict[str, Any]]:
    return [{"topic": topic, "partition": partition} for topic, partition in partitions]


def _reset(cluster: Cluster, options: argparse.Namespace) -> None:
    group_reset.run(cluster, _groups(options), options)


def _delete_offsets(cluster: Cluster, options: argparse.Namespace) -> None:
    partitions = group_reset.partitions_named(cluster, options.topic)
    for name in _groups(options):
        GroupAdmin(cluster).delete_offsets(name, partitions)
        print(f"Deleted the offsets of group {name} for {plural(len(partitions), 'partition')}.")


def _delete(cluster: Cluster, options: argparse.Namespace) -> None:
    groups = GroupAdmin(cluster)
    for name in _groups(options):
        try:
            groups.delete(name)
        except ApiError as error:
            if error.code is ErrorCode.NON_EMPTY_GROUP:
                message = f"group {name} has members: it can be deleted once they have left"
                raise ApiError(error.code, message) from None
            if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                raise
            if not options.if_exists:
                raise ApiError(error.code, f"group {name} does not exist") from None
            print(f"Group {name} does not exist.")
            continue
        print(f"Deleted group {name}.")
