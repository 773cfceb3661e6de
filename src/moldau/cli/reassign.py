"""``moldau partitions reassign``: give partitions other replicas, follow that, or cancel it.

Nothing is changed without ``--execute``.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Any, Final

from moldau.cli.errors import CommandError, UsageError
from moldau.cli.option_types import positive_int
from moldau.cli.output import plural, print_json, print_table
from moldau.cli.partition_names import selected
from moldau.cli.reassignment_file import read_plan
from moldau.cli.reassignment_plan import Assignment, NotEnoughBrokers, spread
from moldau.cli.reassignment_throttle import remove_throttle, throttle, throttled_replicas
from moldau.client.admin import Admin
from moldau.client.partition_admin import PartitionAdmin
from moldau.ids import TopicPartition

_POLL_S: Final = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_argument_group("new replicas").add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--brokers",
        metavar="1,2,3",
        help="spread the replicas over these brokers, moving as few as possible",
    )
    what.add_argument(
        "--replicas", metavar="1,2,3", help="exactly these, the preferred leader first"
    )
    what.add_argument(
        "--reassignment-json-file", metavar="FILE", type=Path, help="a plan in Kafka's format"
    )
    what.add_argument(
        "--cancel", action="store_true", help="return to the old replicas; without names: all"
    )
    what.add_argument(
        "--verify",
        action="store_true",
        help="show what is in progress; if nothing is, remove throttles",
    )
    parser.add_argument(
        "--replication-factor",
        metavar="N",
        type=positive_int,
        help="with --brokers (default: as it is)",
    )
    parser.add_argument(
        "--throttle",
        metavar="BYTES",
        type=positive_int,
        help="copy at most this much a second per broker",
    )
    parser.add_argument("--wait", action="store_true", help="return when it is completed")
    how = parser.add_argument_group("execution").add_mutually_exclusive_group()
    how.add_argument("--execute", action="store_true", help="apply the plan")
    how.add_argument("--dry-run", action="store_true", help="only show it (default)")


def run(admin: Admin, options: argparse.Namespace) -> int:
    if options.replication_factor is not None and options.brokers is None:
        raise UsageError("--replication-factor goes with --brokers; --replicas has its own number")
    if options.reassignment_json_file is not None and options.topics:
        raise UsageError("--reassignment-json-file names the partitions itself; omit the topics")
    partitions = admin.partitions
    if options.verify:
        return _verify(admin, partitions, options)
    if options.cancel:
        return _cancel(admin, partitions, options)
    current, targets = _plan(admin, partitions, options)
    moved = {each: replicas for each, replicas in targets.items() if replicas != current[each]}
    if options.format == "json":
        print_json({"version": 1, "partitions": [_json(*item) for item in moved.items()]})
    elif moved:
        rows = [(x.topic, x.partition, current[x], replicas) for x, replicas in moved.items()]
        print_table(("TOPIC", "PARTITION", "REPLICAS", "NEW REPLICAS"), rows)
    if not moved:
        print("Every partition has these replicas already.", file=sys.stderr)
        return 0
    if not options.execute:
        print("Nothing was changed; add --execute to apply.", file=sys.stderr)
        return 0
    if options.throttle is not None:
        replicas = throttled_replicas(current, moved)
        throttle(admin, _involved(admin, current, moved), replicas, options.throttle)
    failed = partitions.reassign(dict(moved))
    for error in failed.values():
        print(f"moldau: {error} ({error.code.name})", file=sys.stderr)
    try:
        print(f"Reassigning {plural(len(moved) - len(failed), 'partition')}.", file=sys.stderr)
        if options.wait:
            _wait(partitions, [each for each in moved if each not in failed])
    except KeyboardInterrupt:
        print(
            "moldau: interrupted, but the reassignment continues; 'moldau partitions reassign "
            "--verify' shows it, and removes the throttle at the end",
            file=sys.stderr,
        )
        raise
    if options.wait:
        if options.throttle is not None:
            brokers = _involved(admin, current, moved)
            remove_throttle(admin, brokers, list(dict.fromkeys(each.topic for each in moved)))
        print("Completed.", file=sys.stderr)
    return 1 if failed else 0


def _plan(
    admin: Admin, partitions: PartitionAdmin, options: argparse.Namespace
) -> tuple[Assignment, Assignment]:
    """The replicas of the chosen partitions, now and as they should be."""
    wanted: Assignment = {}
    if options.reassignment_json_file is not None:
        wanted = read_plan(options.reassignment_json_file)
        states = partitions.describe(list(dict.fromkeys(each.topic for each in wanted)))
        known = {each.partition: each.replicas for each in states}
        for each in wanted:
            if each not in known:
                raise CommandError(f"{options.reassignment_json_file}: there is no {each}")
        current = {each: known[each] for each in wanted}
    else:
        current = {each.partition: each.replicas for each in selected(partitions, options)}
    for each, moving in partitions.reassignments().items():
        if each in current:
            # Otherwise the replicas that are about to go would count as wanted.
            current[each] = moving.target
    if wanted:
        return current, wanted
    if options.replicas is not None:
        replicas = _ids("--replicas", options.replicas)
        return current, dict.fromkeys(current, replicas)
    racks = {each.node_id: each.rack for each in admin.nodes.brokers()}
    brokers = _ids("--brokers", options.brokers)
    unknown = [each for each in brokers if each not in racks]
    if unknown:
        known_ids = ", ".join(map(str, racks))
        raise CommandError(
            f"--brokers {options.brokers}: there is no broker {unknown[0]}; the cluster has "
            f"{known_ids}"
        )
    try:
        return current, spread(current, brokers, racks, options.replication_factor)
    except NotEnoughBrokers as error:
        raise CommandError(f"--brokers {options.brokers}: {error}") from None


def _cancel(admin: Admin, partitions: PartitionAdmin, options: argparse.Namespace) -> int:
    moving = partitions.reassignments()
    if options.topics:
        chosen = [each.partition for each in selected(partitions, options)]
        moving = {each: moving[each] for each in chosen if each in moving}
    if not moving:
        print("No reassignment is in progress.")
        return 0
    if not options.execute:
        for each in moving:
            print(f"Would cancel the reassignment of {each}.")
        print("Nothing was changed; add --execute to apply.", file=sys.stderr)
        return 0
    failed = partitions.reassign(dict.fromkeys(moving))
    for error in failed.values():
        print(f"moldau: {error} ({error.code.name})", file=sys.stderr)
    print(f"Cancelled {plural(len(moving) - len(failed), 'reassignment')}.")
    remove_throttle(admin, _live(admin), list(dict.fromkeys(each.topic for each in moving)))
    return 1 if failed else 0


def _verify(admin: Admin, partitions: PartitionAdmin, options: argparse.Namespace) -> int:
    chosen = [each.partition for each in selected(partitions, options, takes_all=True)]
    moving = partitions.reassignments()
    moving = {each: moving[each] for each in chosen if each in moving}
    if options.format == "json":
        print_json(
            [
                {**_json(each, x.target), "adding": x.adding, "removing": x.removing}
                for each, x in moving.items()
            ]
        )
    elif moving:
        rows = [
            (each.topic, each.partition, x.target, x.adding, x.removing)
            for each, x in moving.items()
        ]
        print_table(("TOPIC", "PARTITION", "NEW REPLICAS", "ADDING", "REMOVING"), rows)
    if moving:
        return 1
    topics = list(dict.fromkeys(each.topic for each in chosen))
    ended = remove_throttle(admin, _live(admin), topics)
    rest = "; the throttles are removed" if ended else ""
    print(f"No reassignment is in progress{rest}.", file=sys.stderr)
    return 0


def _wait(partitions: PartitionAdmin, moved: list[TopicPartition]) -> None:
    # A broker or controller that is lost meanwhile does not end the waiting.
    while partitions.cluster.retrying(lambda: partitions.reassignments(moved)):
        time.sleep(_POLL_S)


def _live(admin: Admin) -> list[int]:
    return [each.node_id for each in admin.nodes.brokers() if not each.is_fenced]


def _involved(admin: Admin, current: Assignment, moved: Assignment) -> list[int]:
    """The brokers that copy, from or to."""
    copying = {node for each, replicas in moved.items() for node in (*replicas, *current[each])}
    return [each for each in _live(admin) if each in copying]


def _ids(option: str, text: str) -> list[int]:
    try:
        ids = [int(each) for each in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} {text}: write ids of brokers, as in 1,2,3") from None
    if len(set(ids)) != len(ids):
        raise UsageError(f"{option} {text}: a broker is named twice")
    return ids


def _json(partition: TopicPartition, replicas: list[int]) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition, "replicas": replicas}
