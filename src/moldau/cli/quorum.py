"""Describe the metadata quorum, and change which controllers vote in it.

moldau quorum describe
moldau quorum add-controller server.properties
moldau quorum remove-controller 3
"""

import argparse
import time
from typing import Any

from moldau.broker.format import metadata_log_dir
from moldau.cli.admin_command import add_admin_verb, admin_of
from moldau.cli.errors import CommandError, UsageError
from moldau.cli.output import add_format, print_json, print_table
from moldau.cli.start import checked_config, read_properties
from moldau.client.node_admin import NodeAdmin, NodeEndpoint, QuorumDescription, QuorumReplica
from moldau.ids import NO_UUID, uuid_from_str, uuid_to_str
from moldau.storage.disk.checkpoint import CorruptCheckpoint, read_meta_properties
from moldau.storage.disk.disk import RealDisk


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    add_format(
        add_admin_verb(verbs, "describe", "show the active controller, voters and observers", _show)
    )
    add = add_admin_verb(verbs, "add-controller", "add a controller to the voters", _add)
    add.add_argument(
        "properties", metavar="server.properties", help="the settings of the controller to add"
    )
    add.add_argument(
        "--directory-id",
        metavar="UUID",
        help="of its metadata directory (default: from meta.properties, on its own machine)",
    )
    add.add_argument("--dry-run", action="store_true", help="only show what would be done")
    remove = add_admin_verb(
        verbs, "remove-controller", "remove a controller from the voters", _remove
    )
    remove.add_argument("controller", metavar="ID", type=int, help="its node id")
    remove.add_argument(
        "--directory-id",
        metavar="UUID",
        help="needed only if two directories of this node are voters",
    )
    remove.add_argument("--dry-run", action="store_true", help="only show what would be done")


def run(options: argparse.Namespace) -> int:
    with admin_of(options) as admin:
        admin.cluster.refresh(())
        return int(options.action(admin.nodes, options) or 0)


def _show(nodes: NodeAdmin, options: argparse.Namespace) -> None:
    quorum = nodes.describe_quorum()
    rows = replica_rows(quorum)
    if options.format == "json":
        print_json(
            {
                "cluster_id": nodes.cluster.cluster_id,
                "leader": quorum.leader_id,
                "leader_epoch": quorum.leader_epoch,
                "high_watermark": quorum.high_watermark,
                "replicas": rows,
            }
        )
        return
    print(f"cluster {nodes.cluster.cluster_id}")
    print(
        f"active controller {quorum.leader_id}, epoch {quorum.leader_epoch}, "
        f"high watermark {quorum.high_watermark}"
    )
    now_ms = int(time.time() * 1000)
    header = ("NODE", "STATUS", "END", "LAG", "FETCHED", "CAUGHT UP", "DIRECTORY", "ENDPOINTS")
    table = [
        (
            row["node"],
            row["status"],
            row["log_end_offset"],
            row["lag"],
            ago(row["last_fetch_ms"], now_ms),
            ago(row["last_caught_up_ms"], now_ms),
            row["directory_id"],
            row["endpoints"],
        )
        for row in rows
    ]
    print_table(header, table, indent="  ")


def replica_rows(quorum: QuorumDescription) -> list[dict[str, Any]]:
    """The leader first, then the other voters, then observers."""
    leads = [each for each in quorum.voters if each.node_id == quorum.leader_id]
    end = leads[0].log_end_offset if leads else quorum.high_watermark
    follows = [each for each in quorum.voters if each.node_id != quorum.leader_id]
    groups = (("leader", leads), ("voter", follows), ("observer", quorum.observers))
    return [
        {
            "node": each.node_id,
            "status": status,
            "log_end_offset": each.log_end_offset,
            "lag": max(0, end - each.log_end_offset),
            "last_fetch_ms": each.last_fetch_ms if each.last_fetch_ms >= 0 else None,
            "last_caught_up_ms": each.last_caught_up_ms if each.last_caught_up_ms >= 0 else None,
            "directory_id": uuid_to_str(each.directory_id)
            if each.directory_id != NO_UUID
            else None,
            "endpoints": [_text(x) for x in quorum.endpoints.get(each.node_id, ())],
        }
        for status, replicas in groups
        for each in replicas
    ]


def ago(moment_ms: int | None, now_ms: int) -> str | None:
    """``250 ms ago``, ``3 s ago``; None if it never happened."""
    if moment_ms is None:
        return None
    passed_ms = max(0, now_ms - moment_ms)
    return f"{passed_ms} ms ago" if passed_ms < 1000 else f"{passed_ms // 1000} s ago"


def _add(nodes: NodeAdmin, options: argparse.Namespace) -> None:
    path = options.properties
    config = checked_config(read_properties(path), path)
    if not config.is_controller:
        raise CommandError(
            f"{path}: process.roles={','.join(config.process_roles)} has no controller"
        )
    directory_id = _directory_id(options) or _stored_directory_id(metadata_log_dir(config))
    endpoints = [
        NodeEndpoint(each.name, each.host or "localhost", each.port)
        for each in config.controller_endpoints
    ]
    what = (
        f"controller {config.node_id} with directory {uuid_to_str(directory_id)} and "
        f"{', '.join(map(_text, endpoints))}"
    )
    voters = nodes.describe_quorum().voters
    if any((x.node_id, x.directory_id) == (config.node_id, directory_id) for x in voters):
        raise CommandError(f"controller {config.node_id} is a voter already")
    if options.dry_run:
        print(f"Would add {what}.")
        return
    nodes.add_voter(config.node_id, directory_id, endpoints)
    print(f"Added {what}.")


def _remove(nodes: NodeAdmin, options: argparse.Namespace) -> None:
    node_id = options.controller
    directory_id = _directory_id(options)
    quorum = nodes.describe_quorum()
    if directory_id is None:
        directory_id = _voter(quorum, node_id).directory_id
    if len(quorum.voters) == 1:
        raise CommandError(
            f"controller {node_id} is the only voter: add another with 'moldau quorum "
            "add-controller' first"
        )
    what = f"controller {node_id} with directory {uuid_to_str(directory_id)}"
    if options.dry_run:
        print(f"Would remove {what}.")
        return
    nodes.remove_voter(node_id, directory_id)
    print(f"Removed {what}.")


def _voter(quorum: QuorumDescription, node_id: int) -> QuorumReplica:
    found = [each for each in quorum.voters if each.node_id == node_id]
    if not found:
        ids = ", ".join(str(each.node_id) for each in quorum.voters)
        raise CommandError(f"controller {node_id} is not a voter: the voters are {ids}")
    if len(found) > 1:
        ids = ", ".join(uuid_to_str(each.directory_id) for each in found)
        raise CommandError(
            f"controller {node_id} is a voter with several directories: choose one of {ids} with "
            "--directory-id"
        )
    return found[0]


def _directory_id(options: argparse.Namespace) -> bytes | None:
    if options.directory_id is None:
        return None
    try:
        return uuid_from_str(options.directory_id)
    except ValueError:
        raise UsageError(
            f"--directory-id {options.directory_id}: not a directory id; 'moldau quorum describe' "
            "shows them"
        ) from None


def _stored_directory_id(path: str) -> bytes:
    try:
        properties = read_meta_properties(RealDisk(), path)
    except (CorruptCheckpoint, OSError) as error:
        raise CommandError(str(error)) from None
    if properties is None or properties.directory_id is None:
        raise CommandError(
            f"{path} has no meta.properties with a directory.id: format it with 'moldau storage "
            "format --no-initial-controllers', or give --directory-id if it is on another machine"
        )
    return properties.directory_id


def _text(endpoint: NodeEndpoint) -> str:
    host = f"[{endpoint.host}]" if ":" in endpoint.host else endpoint.host
    return f"{endpoint.listener}://{host}:{endpoint.port}"
