"""List the brokers of a cluster, and unregister one that does not come back.

moldau brokers list
moldau brokers unregister 3
"""

import argparse

from moldau.cli.admin_command import add_admin_verb, admin_of
from moldau.cli.output import add_format, print_json, print_table
from moldau.client.admin import Admin
from moldau.errors import ApiError, ErrorCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    add_format(add_admin_verb(verbs, "list", "list the registered brokers", _list))
    unregister = add_admin_verb(
        verbs, "unregister", "remove the registration of a broker", _unregister
    )
    unregister.add_argument("broker", metavar="ID", type=int, help="its node id")


def run(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        return int(options.action(admin, options) or 0)


def _list(admin: Admin, options: argparse.Namespace) -> None:
    brokers = admin.nodes.brokers()
    leaders = {broker.node_id: 0 for broker in brokers}
    replicas = dict(leaders)
    in_sync = dict(leaders)
    for state in admin.partitions.describe():
        leaders[state.leader] = leaders.get(state.leader, 0) + 1
        for node_id in state.replicas:
            replicas[node_id] = replicas.get(node_id, 0) + 1
            in_sync[node_id] = in_sync.get(node_id, 0) + (node_id in state.isr)
    rows = [
        {
            "id": each.node_id,
            "host": each.host,
            "port": each.port,
            "rack": each.rack,
            "fenced": each.is_fenced,
            "leaders": leaders[each.node_id],
            "replicas": replicas[each.node_id],
            "in_sync": in_sync[each.node_id],
        }
        for each in brokers
    ]
    if options.format == "json":
        print_json(rows)
        return
    header = ("BROKER", "ADDRESS", "RACK", "STATE", "LEADERS", "REPLICAS", "IN SYNC")
    table = [
        (
            row["id"],
            f"{row['host']}:{row['port']}",
            row["rack"],
            "fenced" if row["fenced"] else "in service",
            row["leaders"],
            row["replicas"],
            row["in_sync"],
        )
        for row in rows
    ]
    print_table(header, table)


def _unregister(admin: Admin, options: argparse.Namespace) -> None:
    nodes = admin.nodes
    known = {each.node_id: each for each in nodes.brokers()}
    broker = known.get(options.broker)
    if broker is None:
        ids = ", ".join(map(str, known))
        message = f"broker {options.broker} is not registered: the cluster has {ids}"
        raise ApiError(ErrorCode.BROKER_ID_NOT_REGISTERED, message)
    if not broker.is_fenced:
        message = (
            f"broker {options.broker} is in service at {broker.host}:{broker.port}: it would only "
            "have to register again. Stop it first"
        )
        raise ApiError(ErrorCode.INVALID_REQUEST, message)
    states = admin.partitions.describe()
    holds = sum(options.broker in state.replicas for state in states)
    nodes.unregister_broker(options.broker)
    print(f"Unregistered broker {options.broker}.")
    if holds:
        print(
            f"It is still a replica of {holds} partitions, which cannot be in sync there: "
            "'moldau partitions reassign' gives them other replicas."
        )
