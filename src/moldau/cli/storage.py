"""Format a data directory, verify it, and look into its files.

moldau storage format --data-dir DIR
moldau storage format -t CLUSTER_ID -c server.properties --standalone
moldau storage verify DIR
moldau storage dump DIR/orders-0/00000000000000000000.log --print-data-log
moldau storage dump DIR/__cluster_metadata-0 --format json
moldau storage random-uuid
"""

import argparse
import os
import random
import sys
from typing import Final

from moldau.cli.errors import CommandError, UsageError
from moldau.cli.option_types import positive_int

_DECODERS: Final = {
    "offsets-decoder": "of __consumer_offsets",
    "transaction-log-decoder": "of __transaction_state",
    "share-group-state-decoder": "of __share_group_state",
    "cluster-metadata-decoder": "of __cluster_metadata",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_format(verbs.add_parser("format", help="format a data directory", allow_abbrev=False))
    from moldau.cli import storage_verify

    verify = verbs.add_parser("verify", help="verify every byte, offline", allow_abbrev=False)
    storage_verify.add_arguments(verify)
    _add_dump(verbs.add_parser("dump", help="print the contents of files", allow_abbrev=False))
    uuid = verbs.add_parser("random-uuid", help="print an id for a new cluster", allow_abbrev=False)
    uuid.description = "Print an id for a new cluster or directory."
    uuid.set_defaults(action=_random_uuid)


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.description = "Make data directories that a broker can start on."
    parser.add_argument("-c", "--config", metavar="FILE", help="the node's server.properties")
    parser.add_argument("--data-dir", metavar="DIR", help="overrides log.dirs of the file")
    parser.add_argument(
        "--set", dest="settings", metavar="KEY=VALUE", action="append", default=[], help="a setting"
    )
    parser.add_argument("-t", "--cluster-id", metavar="UUID", help="default: a new one")
    quorum = parser.add_mutually_exclusive_group()
    quorum.add_argument(
        "-s", "--standalone", action="store_true", help="this node is the only voter so far"
    )
    quorum.add_argument(
        "-I", "--initial-controllers", metavar="LIST", help="the first voters, id@host:port:uuid"
    )
    quorum.add_argument(
        "-N", "--no-initial-controllers", action="store_true", help="the voters are added later"
    )
    parser.add_argument(
        "-g", "--ignore-formatted", action="store_true", help="leave formatted directories alone"
    )
    parser.add_argument("-r", "--release-version", metavar="VERSION", help="such as 4.3")
    parser.add_argument(
        "-f", "--feature", metavar="NAME=LEVEL", action="append", default=[], help="may be repeated"
    )
    parser.set_defaults(action=_format)


def _add_dump(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Print segments, indexes, snapshots, checkpoints, and the records of the broker's own "
        "topics: committed offsets, transactions, share groups and the cluster's metadata. "
        "A directory stands for the files in it."
    )
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--files", metavar="PATH,PATH", help="as in Kafka's kafka-dump-log")
    parser.add_argument(
        "--print-data-log", action="store_true", help="include keys, values and headers of records"
    )
    parser.add_argument(
        "--deep-iteration", action="store_true", help="print records, not only batches"
    )
    parser.add_argument(
        "--skip-record-metadata", action="store_true", help="only keys and values of records"
    )
    parser.add_argument(
        "--max-bytes", metavar="N", type=positive_int, help="read at most this much of each segment"
    )
    decoders = parser.add_mutually_exclusive_group()
    for option, whose in _DECODERS.items():
        decoders.add_argument(
            f"--{option}",
            dest="decoder",
            action="store_const",
            const=option,
            help=f"decode records as {whose}; the default in a directory of that name",
        )
    parser.add_argument(
        "--index-sanity-check",
        "--verify-index-only",
        dest="verifies_only",
        action="store_true",
        help="only check whether indexes match their segment",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="json: one object per line"
    )
    parser.set_defaults(action=_dump)


def run(options: argparse.Namespace) -> int:
    return int(options.action(options))


def _format(options: argparse.Namespace) -> int:
    from moldau.broker.format import FormatError, FormatOptions, format_directories
    from moldau.cli.start import read_config
    from moldau.storage.disk.disk import RealDisk

    config = read_config(options.config, options.data_dir, None, options.settings, os.environ)
    features = {}
    for text in options.feature:
        name, equals, level = text.partition("=")
        if not equals or not level.strip().isdigit():
            raise UsageError(f"--feature {text}: write name=level, as in group.version=1")
        features[name.strip()] = int(level)
    # Without a config file, --standalone is the default if no other quorum is configured.
    says_quorum = options.initial_controllers or options.no_initial_controllers
    is_alone = not options.config and not says_quorum and not config.controller_quorum_voters
    chosen = FormatOptions(
        cluster_id=options.cluster_id,
        release_version=options.release_version,
        features=features,
        ignore_formatted=options.ignore_formatted,
        standalone=options.standalone or is_alone,
        initial_controllers=options.initial_controllers,
        no_initial_controllers=options.no_initial_controllers,
    )
    rng = random.SystemRandom()
    try:
        cluster_id = format_directories(config, chosen, RealDisk(), rng, report=print)
    except FormatError as error:
        raise CommandError(str(error)) from None
    print(f"Cluster {cluster_id}, node {config.node_id}.")
    return 0


def _dump(options: argparse.Namespace) -> int:
    from moldau.cli.dump import DumpOptions, dump_paths
    from moldau.cli.dump_log import LogOptions
    from moldau.cli.dump_records import Decoder

    paths = [*options.paths, *(options.files or "").split(",")]
    paths = [path for path in paths if path]
    if not paths:
        raise UsageError("storage dump: name a file or a directory")
    shows_data = options.print_data_log or options.skip_record_metadata
    chosen = DumpOptions(
        LogOptions(
            shows_records=shows_data or options.deep_iteration,
            shows_data=shows_data,
            skips_record_metadata=options.skip_record_metadata,
            decoder=None if options.decoder is None else Decoder(options.decoder),
            max_bytes=options.max_bytes,
        ),
        verifies_only=options.verifies_only,
        is_json=options.format == "json",
    )
    return 0 if dump_paths(paths, chosen, sys.stdout) else 1


def _random_uuid(options: argparse.Namespace) -> int:
    from moldau.ids import new_uuid, uuid_to_str

    print(uuid_to_str(new_uuid(random.SystemRandom())))
    return 0
