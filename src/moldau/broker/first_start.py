"""Determines whether ``moldau start`` may format a directory automatically.

A node that was never started gets a new cluster automatically. Everything else is left to the
operator, because an empty directory may be the mount point of a disk that is not mounted: if it
were formatted, its topics would appear empty, and records written to them would be lost when the
disk is mounted again.

So directories are formatted only if all of them are fresh: missing, empty, or with only the files
that formatting wrote, by ``moldau storage format`` or by a first start that was interrupted. If one
of them has been used, the start is refused when another is not formatted, as in Apache Kafka.
"""

import logging
import random
from typing import Final

from moldau.broker.format import (
    FIRST_SNAPSHOT,
    FormatError,
    FormatOptions,
    all_directories,
    check_same,
    format_directories,
    make_durable_dirs,
    metadata_log_dir,
    read_directories,
)
from moldau.broker.metadata_snapshot import BOOTSTRAP_CHECKPOINT, snapshot_name
from moldau.clock import Clock
from moldau.config.broker import BrokerConfig
from moldau.ids import METADATA_TOPIC, new_uuid
from moldau.storage.disk.checkpoint import META_PROPERTIES, MetaProperties, write_meta_properties
from moldau.storage.disk.directory_lock import LOCK_FILE
from moldau.storage.disk.disk import Disk

_METADATA_LOG: Final = f"{METADATA_TOPIC}-0"
_WRITTEN_BY_FORMATTING: Final = frozenset(
    name + suffix
    for name in (META_PROPERTIES, BOOTSTRAP_CHECKPOINT, snapshot_name(FIRST_SNAPSHOT))
    for suffix in ("", ".tmp")
)
# A new file system has lost+found.
_MEANINGLESS: Final = frozenset(("lost+found", LOCK_FILE))

logger = logging.getLogger(__name__)


def format_if_empty(
    config: BrokerConfig, disk: Disk, rng: random.Random, clock: Clock | None = None
) -> None:
    """Format the directories of a node that was never started.

    Raises:
        FormatError: the directories belong to different nodes or clusters, or one that is not
            formatted may be the mount point of a missing disk. Nothing was written then.
    """
    usable = _usable_directories(config, disk)
    found = read_directories(usable, disk)
    formatted = {path: each for path, each in found.items() if each is not None}
    unformatted = [path for path in found if path not in formatted]
    if unformatted:
        _check_nothing_was_in_use(config, disk, found)
    first = next(iter(formatted.values()), None)
    for path, properties in formatted.items():
        check_same(path, properties, first.cluster_id if first else None, config.node_id)
        if properties.directory_id is None:
            # Formatted before directories had ids (KIP-858).
            named = properties._replace(directory_id=new_uuid(rng))
            write_meta_properties(disk, path, named)
    if unformatted and not _is_alone(config):
        raise FormatError(
            f"No meta.properties found in {', '.join(unformatted)}. This node belongs to a cluster "
            "of several: run `moldau storage format` with the cluster id that all of them have"
        )
    if unformatted:
        options = FormatOptions(ignore_formatted=True, standalone=_may_stand_alone(config))
        were_there = [path for path in unformatted if disk.is_dir(path)]
        for path in unformatted:
            _create(config, disk, path)
        cluster_id = format_directories(config, options, disk, rng, clock=clock, paths=usable)
        logger.info("formatted %s for the new cluster %s", ", ".join(unformatted), cluster_id)
        if were_there:
            logger.warning(
                "%s was empty, and a new cluster begins in it. If there should be data, stop this "
                "broker: the disk may not be mounted",
                ", ".join(were_there),
            )


def _usable_directories(config: BrokerConfig, disk: Disk) -> list[str]:
    """The directories that are readable, or do not exist yet.

    The broker continues without the others.

    Raises:
        FormatError: the directory of the metadata log is not usable.
    """
    usable = []
    for path in all_directories(config):
        try:
            if disk.exists(path):
                disk.list_dir(path)
        except OSError as error:
            if path == metadata_log_dir(config):
                raise _cannot_be_used(config, path, error) from error
            logger.error("log directory %s cannot be used: %s", path, error)
        else:
            usable.append(path)
    return usable


def _create(config: BrokerConfig, disk: Disk, path: str) -> None:
    try:
        make_durable_dirs(disk, path)
    except OSError as error:
        raise _cannot_be_used(config, path, error) from error


def _cannot_be_used(config: BrokerConfig, path: str, error: OSError) -> FormatError:
    kind = "metadata log directory" if path == metadata_log_dir(config) else "log directory"
    return FormatError(f"the {kind} {path} cannot be used: {error.strerror or error}")


def _check_nothing_was_in_use(
    config: BrokerConfig, disk: Disk, found: dict[str, MetaProperties | None]
) -> None:
    """Raises FormatError if one of the directories has been used."""
    missing = next(path for path, properties in found.items() if properties is None)
    broken = [path for path in all_directories(config) if path not in found]
    if broken:
        raise FormatError(
            f"No meta.properties found in {missing}. It is not formatted now, because "
            f"{', '.join(broken)} cannot be used and may hold the data of this node. "
            "Repair that first, or take it out of log.dirs"
        )
    for path, properties in found.items():
        if _is_fresh(disk, path):
            continue
        if properties is None:
            raise FormatError(
                f"No meta.properties found in {path}, and the directory is not empty: it is "
                "not known to be Moldau's. Name an empty directory in log.dirs, or if it is to be "
                f"used all the same, run: {_format_command(config)}"
            )
        raise FormatError(_missing(config, missing, path))


def _missing(config: BrokerConfig, missing: str, used: str) -> str:
    problem = (
        f"No meta.properties found in {missing}, while {used} was in use before. Is the disk of "
        f"{missing} not mounted? Mount it and start again"
    )
    if missing == metadata_log_dir(config):
        return (
            f"{problem}. Without it the node knows none of its topics; if the disk is lost, "
            "restore the directory from a copy"
        )
    return f"{problem}. If it is a new directory, add it with: {_format_command(config)}"


def _format_command(config: BrokerConfig) -> str:
    """The complete command that formats the missing directories."""
    import shlex  # here, because a start that succeeds does not need it

    settings = {"node.id": str(config.node_id), "log.dirs": ",".join(config.log_dirs)}
    if config.metadata_log_dir != config.log_dirs[0]:
        settings["metadata.log.dir"] = config.metadata_log_dir
    chosen = " ".join(f"--set {shlex.quote(f'{k}={v}')}" for k, v in settings.items())
    return f"moldau storage format --ignore-formatted {chosen}"


def _is_fresh(disk: Disk, path: str) -> bool:
    """Whether the directory has only files that formatting writes, or does not exist."""
    if not disk.is_dir(path):
        return True
    for name in disk.list_dir(path):
        if name == _METADATA_LOG:
            if not _WRITTEN_BY_FORMATTING.issuperset(disk.list_dir(f"{path}/{name}")):
                return False
        elif name not in _WRITTEN_BY_FORMATTING and name not in _MEANINGLESS:
            return False
    return True


def _is_alone(config: BrokerConfig) -> bool:
    """Whether the settings name no other node: then a new cluster may begin here."""
    voters = config.controller_quorum_voters
    servers = config.controller_quorum_bootstrap_servers
    return config.is_controller and len(voters) <= 1 and len(servers) <= 1


def _may_stand_alone(config: BrokerConfig) -> bool:
    return config.is_controller and not config.controller_quorum_voters
