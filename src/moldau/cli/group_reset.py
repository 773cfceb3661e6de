"""``moldau groups reset-offsets``: compute new offsets of groups, show and apply them.

Nothing is changed without ``--execute``. Offsets are limited to the range of each partition.
"""

import argparse
import csv
import re
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from moldau.cli.errors import CommandError, UsageError
from moldau.cli.output import plural, print_json, print_table
from moldau.cli.text_files import read_text
from moldau.cli.times import parse_time
from moldau.client.cluster import Cluster
from moldau.client.group_admin import GroupAdmin
from moldau.client.offsets import EARLIEST, LATEST, list_offsets
from moldau.errors import ApiError, ErrorCode
from moldau.ids import TopicPartition

Offsets = dict[TopicPartition, int]

_ISO_DURATION: Final = re.compile(
    r"P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=.)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)
_AGE: Final = re.compile(r"\d+(ms|s|m|h|d|w)")
_ISO_UNITS_S: Final = (604_800, 86_400, 3600, 60, 1)
# The states in which a group has no active members.
_INACTIVE: Final = frozenset(("Empty", "Dead"))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    scope = parser.add_argument_group("which partitions")
    scope.add_argument(
        "--topic",
        metavar="TOPIC[:N,N]",
        action="append",
        help="a topic, or some of its partitions",
    )
    scope.add_argument(
        "--all-topics", action="store_true", help="all topics with committed offsets"
    )
    where = parser.add_argument_group("new offsets").add_mutually_exclusive_group(required=True)
    where.add_argument("--to-earliest", action="store_true", help="the earliest offset")
    where.add_argument("--to-latest", action="store_true", help="the latest offset")
    where.add_argument(
        "--to-current", action="store_true", help="the committed offset, or else the latest"
    )
    where.add_argument("--to-offset", metavar="N", type=int, help="this offset")
    where.add_argument(
        "--shift-by", metavar="N", type=int, help="N after the committed offset; before if negative"
    )
    where.add_argument(
        "--to-datetime", metavar="TIME", help="since this time: ISO 8601, UTC if no zone is given"
    )
    where.add_argument(
        "--by-duration",
        metavar="DURATION",
        help="since this long ago: 90s, 2h, 7d, or ISO 8601 (PT2H)",
    )
    where.add_argument(
        "--from-file",
        metavar="CSV",
        type=Path,
        help="as in a file of topic,partition,offset or group,topic,partition,offset",
    )
    how = parser.add_argument_group("execution").add_mutually_exclusive_group()
    how.add_argument("--execute", action="store_true", help="apply the new offsets")
    how.add_argument("--dry-run", action="store_true", help="only show them (default)")
    parser.add_argument("--export", action="store_true", help="print them as CSV for --from-file")


class Move(NamedTuple):
    """The change to one partition."""

    group_id: str
    partition: TopicPartition
    current: int | None
    new: int


def run(cluster: Cluster, group_ids: list[str], options: argparse.Namespace) -> None:
    if options.export and options.format == "json":
        raise UsageError("--export prints CSV: omit --format json")
    groups = GroupAdmin(cluster)
    moves: list[Move] = []
    for group_id in group_ids:
        moves += _plan(cluster, groups, group_id, options, is_only=len(group_ids) == 1)
        if options.execute:
            _require_no_members(groups, group_id)
    if options.execute:
        for group_id in group_ids:
            offsets = {each.partition: each.new for each in moves if each.group_id == group_id}
            groups.alter_offsets(group_id, offsets)
    _show(moves, options, has_many=len(group_ids) > 1)
    if not options.execute and not options.export:
        print("Nothing was changed; add --execute to apply.", file=sys.stderr)


def _require_no_members(groups: GroupAdmin, group_id: str) -> None:
    try:
        group = groups.describe(group_id)
    except ApiError as error:
        # A group may get its offsets before its first member joins.
        if error.code is ErrorCode.GROUP_ID_NOT_FOUND:
            return
        raise
    if group.state not in _INACTIVE:
        count = plural(len(group.members), "member")
        raise CommandError(
            f"group {group_id} is {group.state} with {count}: "
            "its offsets can be reset once they have left"
        )


def _plan(
    cluster: Cluster,
    groups: GroupAdmin,
    group_id: str,
    options: argparse.Namespace,
    *,
    is_only: bool,
) -> list[Move]:
    committed = {partition: each.offset for partition, each in groups.offsets(group_id).items()}
    from_file: Offsets = {}
    if options.from_file is not None:
        if options.topic or options.all_topics:
            raise UsageError("--from-file names the partitions; omit --topic and --all-topics")
        from_file = read_csv(options.from_file, group_id, is_only=is_only)
        partitions = sorted(from_file)
    else:
        partitions = _scope(cluster, committed, options)
    starts = _ends(cluster, partitions, EARLIEST)
    ends = _ends(cluster, partitions, LATEST)
    wanted = from_file or _wanted(cluster, partitions, committed, starts, ends, options)
    moves = []
    for partition in partitions:
        new = min(max(wanted[partition], starts[partition]), ends[partition])
        if new != wanted[partition]:
            print(
                f"moldau: {partition} has no offset {wanted[partition]}; using {new}",
                file=sys.stderr,
            )
        moves.append(Move(group_id, partition, committed.get(partition), new))
    return moves


def _scope(
    cluster: Cluster, committed: Offsets, options: argparse.Namespace
) -> list[TopicPartition]:
    if bool(options.topic) == options.all_topics:
        raise UsageError("groups reset-offsets: either --topic or --all-topics is required")
    if options.topic:
        return partitions_named(cluster, options.topic)
    # All partitions of these topics, including those without a committed offset.
    names = sorted({partition.topic for partition in committed})
    return partitions_named(cluster, names, takes_numbers=False)


def partitions_named(
    cluster: Cluster, texts: Iterable[str], *, takes_numbers: bool = True
) -> list[TopicPartition]:
    """``orders`` stands for all its partitions, ``orders:0,2`` for two of them."""
    found: set[TopicPartition] = set()
    for text in texts:
        name, colon, numbers = text.partition(":") if takes_numbers else (text, "", "")
        topic = cluster.retrying(lambda name=name: cluster.topic(name), [name])  # type: ignore[misc]
        existing = [each.partition for each in topic.partitions]
        wanted = numbers.split(",") if colon else map(str, existing)
        for number in wanted:
            if not number.isdigit():
                raise UsageError(f"--topic {text}: expected TOPIC or TOPIC:0,1,2")
            if int(number) not in existing:
                raise UsageError(f"--topic {text}: {name} has partitions 0 to {len(existing) - 1}")
            found.add(TopicPartition(name, int(number)))
    return sorted(found)


def _ends(cluster: Cluster, partitions: Iterable[TopicPartition], end: int) -> Offsets:
    found = list_offsets(cluster, dict.fromkeys(partitions, end))
    return {partition: each.offset for partition, each in found.items()}


def _wanted(
    cluster: Cluster,
    partitions: list[TopicPartition],
    committed: Offsets,
    starts: Offsets,
    ends: Offsets,
    options: argparse.Namespace,
) -> Mapping[TopicPartition, int]:
    """The requested offset of each partition, which may be out of range."""
    if options.to_earliest:
        return starts
    if options.to_latest:
        return ends
    if options.to_current:
        return {each: committed.get(each, ends[each]) for each in partitions}
    if options.to_offset is not None:
        return dict.fromkeys(partitions, options.to_offset)
    if options.shift_by is not None:
        missing = [str(each) for each in partitions if each not in committed]
        if missing:
            raise CommandError(f"no committed offset to shift for {', '.join(missing)}")
        return {each: committed[each] + options.shift_by for each in partitions}
    timestamp = _timestamp(options, time.time_ns() // 1_000_000)
    found = list_offsets(cluster, dict.fromkeys(partitions, timestamp))
    # No record is that recent: start with the next one.
    return {
        each: found[each].offset if found[each].offset >= 0 else ends[each] for each in partitions
    }


def _timestamp(options: argparse.Namespace, wall_ms: int) -> int:
    if options.to_datetime is not None:
        return parse_time(options.to_datetime, wall_ms, "--to-datetime")
    text: str = options.by_duration
    iso = _ISO_DURATION.fullmatch(text)
    if iso is not None:
        parts = zip(iso.groups(), _ISO_UNITS_S, strict=True)
        return wall_ms - round(sum(float(count or 0) * unit for count, unit in parts) * 1000)
    if _AGE.fullmatch(text) is None:
        raise UsageError(f"--by-duration {text}: expected a duration such as 90s, 2h, 7d or PT2H")
    return parse_time(text, wall_ms)


def read_csv(path: Path, group_id: str, *, is_only: bool) -> Offsets:
    """The offsets of one group in a file, which may contain those of several groups.

    Raises:
        CommandError: a line is malformed, or the group is not in the file.
    """
    offsets: Offsets = {}
    for number, row in enumerate(csv.reader(read_text(path).splitlines()), 1):
        fields = [field.strip() for field in row]
        if not any(fields):
            continue
        if len(fields) == 3 and is_only:
            fields = [group_id, *fields]
        if len(fields) != 4 or not (fields[2].isdigit() and fields[3].isdigit()):
            form = "topic,partition,offset" if is_only else "group,topic,partition,offset"
            raise CommandError(f"{path}: line {number}: expected {form}")
        if fields[0] == group_id:
            offsets[TopicPartition(fields[1], int(fields[2]))] = int(fields[3])
    if not offsets:
        raise CommandError(f"{path} contains no offsets of group {group_id}")
    return offsets


def _show(moves: list[Move], options: argparse.Namespace, *, has_many: bool) -> None:
    if options.export:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        for each in moves:
            row: list[Any] = [each.partition.topic, each.partition.partition, each.new]
            writer.writerow([each.group_id, *row] if has_many else row)
    elif options.format == "json":
        print_json(
            [
                {
                    "group": each.group_id,
                    "topic": each.partition.topic,
                    "partition": each.partition.partition,
                    "current_offset": each.current,
                    "new_offset": each.new,
                }
                for each in moves
            ]
        )
    else:
        header = ("GROUP", "TOPIC", "PARTITION", "CURRENT", "NEW")
        print_table(header, [(each.group_id, *each.partition, *each[2:]) for each in moves])
