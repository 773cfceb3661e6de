"""Formats data directories, like ``kafka-storage format``.

A formatted directory has the ids of its cluster and node (``meta.properties``) and the initial
feature levels of the cluster (``bootstrap.checkpoint``). The metadata directory of a dynamic quorum
also has the initial voters, as a snapshot at offset 0: without it, no node would know the voters.
"""

import os
import random
from collections.abc import Callable, Mapping, Sequence

from moldau.broker.metadata_snapshot import BOOTSTRAP_CHECKPOINT, encode_snapshot, snapshot_name
from moldau.clock import Clock, SystemClock
from moldau.config.broker import BrokerConfig
from moldau.ids import METADATA_TOPIC, new_uuid, uuid_to_str
from moldau.metadata.features import (
    KRAFT_VERSION,
    LATEST_METADATA_VERSION,
    METADATA_VERSION,
    METADATA_VERSION_NAMES,
    SUPPORTED_FEATURES,
    default_features,
    metadata_version_name,
    parse_metadata_version,
    unmet_dependency,
)
from moldau.protocol.message import Message
from moldau.protocol.records.metadata import FeatureLevelRecord
from moldau.raft.log_view import BOOTSTRAP_SNAPSHOT
from moldau.raft.voters import Voter, VoterEndpoint, VoterSet, parse_initial_controllers
from moldau.storage.disk.checkpoint import (
    CorruptCheckpoint,
    MetaProperties,
    read_meta_properties,
    write_meta_properties,
)
from moldau.storage.disk.disk import Disk

FIRST_SNAPSHOT = BOOTSTRAP_SNAPSHOT


class FormatError(Exception):
    """Why a directory cannot be formatted, or used as it is."""


class FormatOptions:
    """The options of ``moldau storage format``; the defaults are for a single new node."""

    def __init__(
        self,
        *,
        cluster_id: str | None = None,
        release_version: str | None = None,
        features: Mapping[str, int] | None = None,
        ignore_formatted: bool = False,
        standalone: bool = False,
        initial_controllers: str | None = None,
        no_initial_controllers: bool = False,
    ) -> None:
        self.cluster_id = cluster_id
        self.release_version = release_version
        self.features = dict(features or {})
        self.ignore_formatted = ignore_formatted
        self.standalone = standalone
        self.initial_controllers = initial_controllers
        self.no_initial_controllers = no_initial_controllers


def metadata_log_dir(config: BrokerConfig) -> str:
    """The log directory that holds the metadata log."""
    return config.metadata_log_dir or config.log_dirs[0]


def all_directories(config: BrokerConfig) -> list[str]:
    """Every directory of the node, including that of the metadata log, each once."""
    return list(dict.fromkeys([*config.log_dirs, metadata_log_dir(config)]))


def format_directories(
    config: BrokerConfig,
    options: FormatOptions,
    disk: Disk,
    rng: random.Random,
    *,
    clock: Clock | None = None,
    report: Callable[[str], None] = lambda line: None,
    paths: Sequence[str] | None = None,
) -> str:
    """Format every directory of the node that is not formatted; returns the cluster id.

    ``paths`` restricts this to some of them, if the disks of others have failed.

    Raises:
        FormatError: with the reason; nothing was written then.
    """
    wall_ms = (clock or SystemClock()).wall_ms()
    cluster_id = options.cluster_id or uuid_to_str(new_uuid(rng))
    found = read_directories(all_directories(config) if paths is None else paths, disk)
    has_quorum = found.get(metadata_log_dir(config)) is not None
    levels = feature_levels(options, has_dynamic_quorum=_is_dynamic(config, options, has_quorum))
    formatted = {path: properties for path, properties in found.items() if properties is not None}
    if formatted and not options.ignore_formatted:
        first = next(iter(formatted))
        raise FormatError(
            f"Log directory {first} is already formatted. Use --ignore-formatted to ignore this "
            "directory and format the others."
        )
    for path, properties in formatted.items():
        check_same(path, properties, options.cluster_id, config.node_id)
        cluster_id = properties.cluster_id or cluster_id
    empty = [path for path in found if path not in formatted]
    if not empty:
        report("All of the log directories are already formatted.")
        return cluster_id
    voters = _initial_voters(config, options, rng)
    for path in empty:
        is_metadata_dir = path == metadata_log_dir(config)
        own = voters.voters.get(config.node_id) if voters is not None else None
        directory_id = own.directory_id if own and is_metadata_dir else new_uuid(rng)
        kind = _kind_of_directory(is_metadata_dir, voters, config.node_id)
        name = metadata_version_name(levels[METADATA_VERSION])
        report(f"Formatting {kind} {path} with {METADATA_VERSION} {name}.")
        make_durable_dirs(disk, path)
        _write_bootstrap(disk, path, levels, wall_ms)
        if is_metadata_dir and voters is not None:
            _write_first_voters(disk, path, voters, levels, wall_ms)
        # Written last, because it marks the directory as formatted.
        properties = MetaProperties(1, cluster_id, config.node_id, directory_id)
        write_meta_properties(disk, path, properties)
    return cluster_id


def read_directories(paths: Sequence[str], disk: Disk) -> dict[str, MetaProperties | None]:
    """The ``meta.properties`` of each directory; None for those not formatted."""
    found = {}
    for path in paths:
        try:
            found[path] = read_meta_properties(disk, path) if disk.is_dir(path) else None
        except CorruptCheckpoint as error:
            raise FormatError(str(error)) from error
    return found


def check_same(path: str, properties: MetaProperties, cluster_id: str | None, node_id: int) -> None:
    """Raises FormatError if a formatted directory belongs to another cluster or node."""
    if cluster_id is not None and properties.cluster_id not in (None, cluster_id):
        raise FormatError(
            f"Invalid cluster.id in: {path}/meta.properties. Expected {cluster_id}, but read "
            f"{properties.cluster_id}"
        )
    if properties.node_id not in (None, node_id):
        raise FormatError(
            f"Stored node id {properties.node_id} doesn't match previous node id {node_id} in: "
            f"{path}/meta.properties. If you moved your data, make sure your configured node id "
            "matches."
        )


# Feature levels


def feature_levels(options: FormatOptions, *, has_dynamic_quorum: bool) -> dict[str, int]:
    """Every feature with its initial level in the new cluster.

    Raises:
        FormatError: an unknown feature or level, or incompatible ones.
    """
    metadata_version = _metadata_version(options)
    levels = default_features(metadata_version)
    levels[KRAFT_VERSION] = 1 if has_dynamic_quorum else 0
    for name, level in options.features.items():
        if name not in SUPPORTED_FEATURES:
            known = ", ".join(sorted(set(SUPPORTED_FEATURES) - {METADATA_VERSION}))
            raise FormatError(f"Unsupported feature: {name}. Supported features are: {known}")
        if level not in SUPPORTED_FEATURES[name]:
            low, high = SUPPORTED_FEATURES[name]
            raise FormatError(
                f"No feature:{name} with feature level {level}; the levels are {low} to {high}"
            )
        if name == KRAFT_VERSION and level != levels[KRAFT_VERSION]:
            raise FormatError(_kraft_version_problem(level))
        problem = unmet_dependency(name, level, metadata_version)
        if problem is not None:
            raise FormatError(problem)
        levels[name] = level
    return levels


def _metadata_version(options: FormatOptions) -> int:
    level = options.features.get(METADATA_VERSION)
    if level is not None and options.release_version is not None:
        raise FormatError(
            f"Use --release-version instead of --feature {METADATA_VERSION}=X to avoid ambiguity."
        )
    if options.release_version is not None:
        try:
            level = parse_metadata_version(options.release_version)
        except ValueError as error:
            raise FormatError(str(error)) from error
    if level is None:
        return LATEST_METADATA_VERSION
    if level not in METADATA_VERSION_NAMES:
        raise FormatError(f"No {METADATA_VERSION} with feature level {level}")
    if level > LATEST_METADATA_VERSION:
        raise FormatError(f"{METADATA_VERSION} {metadata_version_name(level)} is not yet stable.")
    return level


def _kraft_version_problem(level: int) -> str:
    flags = "--standalone, --initial-controllers, or --no-initial-controllers"
    if level == 0:
        return (
            "Cannot set kraft.version to 0 if controller.quorum.voters is empty and one of the "
            f"flags {flags} is used. For dynamic controllers support, try removing the --feature "
            "flag for kraft.version."
        )
    return (
        f"Cannot set kraft.version to {level} unless controller.quorum.voters is empty and one "
        f"of the flags {flags} is used."
    )


# The quorum


def _is_dynamic(config: BrokerConfig, options: FormatOptions, has_quorum: bool) -> bool:
    """Whether the quorum is dynamic; ``has_quorum`` if the metadata directory is formatted."""
    chosen = [
        options.standalone,
        options.initial_controllers is not None,
        options.no_initial_controllers,
    ]
    if sum(chosen) > 1:
        raise FormatError(
            "--standalone, --initial-controllers and --no-initial-controllers exclude each other."
        )
    if any(chosen) and config.controller_quorum_voters:
        raise FormatError(
            "You cannot specify controller.quorum.voters and format the node with --standalone, "
            "--initial-controllers, or --no-initial-controllers."
        )
    if not config.is_controller and (options.standalone or options.initial_controllers):
        raise FormatError("Only a node with the controller role can be one of the first voters.")
    has_voters = has_quorum or bool(config.controller_quorum_voters)
    if config.is_controller and not has_voters and not any(chosen):
        raise FormatError(
            "Because controller.quorum.voters is not set on this controller, you must specify one "
            "of the following: --standalone, --initial-controllers, or --no-initial-controllers."
        )
    return any(chosen)


def _initial_voters(
    config: BrokerConfig, options: FormatOptions, rng: random.Random
) -> VoterSet | None:
    if options.initial_controllers is not None:
        listener = config.controller_endpoints[0].name
        try:
            return parse_initial_controllers(options.initial_controllers, listener)
        except ValueError as error:
            raise FormatError(str(error)) from error
    if options.standalone:
        endpoints = tuple(
            VoterEndpoint(each.name, each.host or "localhost", each.port)
            for each in config.controller_endpoints
        )
        return VoterSet.of(Voter(config.node_id, new_uuid(rng), endpoints))
    return None


def _kind_of_directory(is_metadata_dir: bool, voters: VoterSet | None, node_id: int) -> str:
    if not is_metadata_dir:
        return "data directory"
    if voters is None:
        return "metadata directory"
    if node_id in voters.voters:
        return "dynamic metadata voter directory"
    return "dynamic metadata directory"


# Files


def make_durable_dirs(disk: Disk, path: str) -> None:
    """Create a directory durably: it and its parents survive a power failure."""
    created = []
    missing = path
    while missing and not disk.is_dir(missing):
        created.append(missing)
        missing = os.path.dirname(missing)
    disk.make_dirs(path)
    for each in reversed(created):
        disk.sync_dir(os.path.dirname(each) or ".")


def bootstrap_records(levels: Mapping[str, int]) -> list[Message]:
    """The first records of a cluster. kraft.version is not included: the quorum stores it."""
    version = levels[METADATA_VERSION]
    first = FeatureLevelRecord(name=METADATA_VERSION, feature_level=version)
    others = [
        FeatureLevelRecord(name=name, feature_level=levels[name])
        for name in sorted(levels)
        if name not in (METADATA_VERSION, KRAFT_VERSION) and levels[name] > 0
    ]
    return [first, *others]


def _write_bootstrap(disk: Disk, path: str, levels: Mapping[str, int], wall_ms: int) -> None:
    data = encode_snapshot(
        bootstrap_records(levels),
        metadata_version=levels[METADATA_VERSION],
        epoch=0,
        last_log_timestamp_ms=0,
        wall_ms=wall_ms,
    )
    disk.write_atomically(os.path.join(path, BOOTSTRAP_CHECKPOINT), data)


def _write_first_voters(
    disk: Disk, path: str, voters: VoterSet, levels: Mapping[str, int], wall_ms: int
) -> None:
    directory = os.path.join(path, f"{METADATA_TOPIC}-0")
    make_durable_dirs(disk, directory)
    data = encode_snapshot(
        [],
        metadata_version=levels[METADATA_VERSION],
        epoch=0,
        last_log_timestamp_ms=wall_ms,
        wall_ms=wall_ms,
        kraft_version=levels[KRAFT_VERSION],
        voters=voters,
    )
    disk.write_atomically(os.path.join(directory, snapshot_name(FIRST_SNAPSHOT)), data)
