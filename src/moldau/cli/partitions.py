"""List partitions, move their replicas to other brokers, and elect leaders.

moldau partitions list --under-replicated
moldau partitions reassign orders --brokers 1,2,3,4 --execute --wait
moldau partitions reassign orders:0 --replicas 2,3,1 --execute
moldau partitions reassign --verify
moldau partitions elect-leaders --all
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any

from moldau.cli import reassign
from moldau.cli.admin_command import add_admin_verb, admin_of
from moldau.cli.errors import CommandError, UsageError
from moldau.cli.option_types import count
from moldau.cli.output import (
    add_format,
    plural,
    print_json,
    print_table,
)
from moldau.cli.partition_names import selected
from moldau.client.admin import Admin
from moldau.client.partition_admin import ElectionType, PartitionState
from moldau.errors import ErrorCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    listing = _verb(verbs, "list", "list partitions with their replicas", _list)
    only = listing.add_argument_group("only partitions").add_mutually_exclusive_group()
    only.add_argument("--under-replicated", action="store_true", help="with replicas out of sync")
    only.add_argument("--under-min-isr", action="store_true", help="with too small an ISR to write")
    only.add_argument("--at-min-isr", action="store_true", help="that cannot lose one more replica")
    only.add_argument("--offline", action="store_true", help="without a leader")
    listing.add_argument(
        "--broker", metavar="ID", type=count, help="only partitions with a replica on this broker"
    )
    add_format(listing)

    moving = _verb(verbs, "reassign", "move replicas to other brokers", _reassign)
    reassign.add_arguments(moving)
    add_format(moving)

    elect = _verb(verbs, "elect-leaders", "make the preferred replicas leaders", _elect)
    elect.add_argument("--all", action="store_true", help="for all partitions")
    elect.add_argument(
        "--unclean",
        action="store_true",
        help="where no replica in sync is left: elect another, which loses records",
    )


def _verb(verbs: Any, name: str, meaning: str, action: Any) -> Any:
    parser = add_admin_verb(verbs, name, meaning, action)
    parser.add_argument(
        "topics", nargs="*", metavar="TOPIC[:N,N]", help="topics, or some of their partitions"
    )
    return parser


def run(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        return int(options.action(admin, options) or 0)


def _reassign(admin: Admin, options: argparse.Namespace) -> int:
    return reassign.run(admin, options)


def _list(admin: Admin, options: argparse.Namespace) -> None:
    partitions = admin.partitions
    states = selected(partitions, options, takes_all=True)
    minimum: Mapping[str, int] = {}
    if options.under_min_isr or options.at_min_isr:
        topics = dict.fromkeys(each.partition.topic for each in states)
        minimum = partitions.min_insync_replicas(topics)
    is_wanted = _filter(options, minimum)
    states = [each for each in states if is_wanted(each)]
    if options.broker is not None and not states:
        _require_broker(admin, options.broker)
    if options.format == "json":
        print_json([_json(each) for each in states])
        return
    header = ("TOPIC", "PARTITION", "LEADER", "REPLICAS", "ISR", "ELR", "OFFLINE")
    rows = [
        (
            each.partition.topic,
            each.partition.partition,
            each.leader if each.leader >= 0 else None,
            each.replicas,
            each.isr,
            each.eligible_leader_replicas,
            each.offline_replicas,
        )
        for each in states
    ]
    print_table(header, rows)


def _require_broker(admin: Admin, node_id: int) -> None:
    """Raises CommandError if nothing is known of a broker; one that is gone may have replicas."""
    ids = [each.node_id for each in admin.nodes.brokers()]
    if node_id not in ids:
        known = ", ".join(map(str, ids))
        raise CommandError(f"--broker {node_id}: there is no such broker; the cluster has {known}")


def _filter(
    options: argparse.Namespace, minimum: Mapping[str, int]
) -> Callable[[PartitionState], bool]:
    def is_wanted(state: PartitionState) -> bool:
        if options.broker is not None and options.broker not in state.replicas:
            return False
        if options.offline:
            return state.leader < 0
        if options.under_replicated:
            return len(state.isr) < len(state.replicas)
        if options.under_min_isr:
            return len(state.isr) < minimum[state.partition.topic]
        if options.at_min_isr:
            return len(state.isr) == minimum[state.partition.topic]
        return True

    return is_wanted


def _json(state: PartitionState) -> dict[str, Any]:
    return {
        "topic": state.partition.topic,
        "partition": state.partition.partition,
        "leader": state.leader if state.leader >= 0 else None,
        "leader_epoch": state.leader_epoch,
        "replicas": state.replicas,
        "isr": state.isr,
        "eligible_leader_replicas": state.eligible_leader_replicas,
        "last_known_elr": state.last_known_elr,
        "offline_replicas": state.offline_replicas,
    }


def _elect(admin: Admin, options: argparse.Namespace) -> int:
    partitions = admin.partitions
    if bool(options.topics) == options.all:
        raise UsageError("partitions elect-leaders: give topics or --all")
    chosen = None
    if not options.all:
        chosen = [each.partition for each in selected(partitions, options)]
    kind = ElectionType.UNCLEAN if options.unclean else ElectionType.PREFERRED
    results = partitions.elect_leaders(kind, chosen)
    needless = failed = 0
    for error in results.values():
        if error is not None and error.code is ErrorCode.ELECTION_NOT_NEEDED:
            needless += 1
        elif error is not None:
            failed += 1
            print(f"moldau: {error} ({error.code.name})", file=sys.stderr)
    elected = len(results) - needless - failed
    had = "a leader" if options.unclean else "their preferred leader"
    rest = f"; {needless} already had {had}" if needless else ""
    print(f"Elected leaders of {plural(elected, 'partition')}{rest}.")
    return 1 if failed else 0
