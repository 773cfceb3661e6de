"""Whether ``moldau start`` may format a directory by itself.

A node that was never started gets its own cluster without further ado. Everything else is
left to the operator, because an empty directory may be the mount point of a disk that is
not mounted: formatted there and then, its topics would be served empty, and what is written
to them would vanish when the disk returns.

So directories are formatted only while all of them are fresh: absent, empty, or with nothing
in them but what formatting itself wrote, by ``moldau storage format`` or by a first start
that was interrupted. If one of them was in use before, those that were not formatted are
refused, as Apache Kafka does.
"""

import logging
import random
import shlex
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
from moldau.broker.metadata_snapshot import BOOTSTRAP_CHECKPOINT
from moldau.config.broker import BrokerConfig
from moldau.ids import METADATA_TOPIC, new_uuid
from moldau.storage.checkpoint import META_PROPERTIES, MetaProperties, write_meta_properties
from moldau.storage.directory_lock import LOCK_FILE
from moldau.storage.disk import Disk

_METADATA_LOG: Final = f"{METADATA_TOPIC}-0"
_WRITTEN_BY_FORMATTING: Final = frozenset(
    name + suffix
    for name in (META_PROPERTIES, BOOTSTRAP_CHECKPOINT, FIRST_SNAPSHOT.file_name)
    for suffix in ("", ".tmp")
)
# A new file system has the first of them.
_MEANINGLESS: Final = frozenset(("lost+found", LOCK_FILE))

logger = logging.getLogger(__name__)


def format_if_empty(config: BrokerConfig, disk: Disk, rng: random.Random) -> None:
    """Format the directories of a node that was never started.

    Raises:
        FormatError: the directories belong to different nodes or clusters, or one that was
            not formatted may be a disk that is missing. Nothing was written then.
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
            # From a time when a broker could not tell its disks apart (before KIP-858).
            named = properties._replace(directory_id=new_uuid(rng))
            write_meta_properties(disk, path, named)
    if unformatted:
        options = FormatOptions(ignore_formatted=True, standalone=_may_stand_alone(config))
        were_there = [path for path in unformatted if disk.is_dir(path)]
        for path in unformatted:
            _create(config, disk, path)
        cluster_id = format_directories(config, options, disk, rng, paths=usable)
        logger.info("formatted %s for the new cluster %s", ", ".join(unformatted), cluster_id)
        if were_there:
            logger.warning(
                "%s was empty, and a new cluster begins in it. If there should be data, stop this "
                "broker: the disk may not be mounted",
                ", ".join(were_there),
            )


def _usable_directories(config: BrokerConfig, disk: Disk) -> list[str]:
    """The directories whose disks work, or that are not there yet.

    The broker goes on without the others.

    Raises:
        FormatError: the metadata log's is not among them.
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
    """Raises FormatError if one of the directories has a past."""
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
    """What adds the directories, complete, to be run as it is."""
    settings = {"node.id": str(config.node_id), "log.dirs": ",".join(config.log_dirs)}
    if config.metadata_log_dir != config.log_dirs[0]:
        settings["metadata.log.dir"] = config.metadata_log_dir
    chosen = " ".join(f"--set {shlex.quote(f'{k}={v}')}" for k, v in settings.items())
    return f"moldau storage format --ignore-formatted {chosen}"


def _is_fresh(disk: Disk, path: str) -> bool:
    """Whether there is nothing in the directory but what formatting writes."""
    if not disk.is_dir(path):
        return True
    for name in disk.list_dir(path):
        if name == _METADATA_LOG:
            if not _WRITTEN_BY_FORMATTING.issuperset(disk.list_dir(f"{path}/{name}")):
                return False
        elif name not in _WRITTEN_BY_FORMATTING and name not in _MEANINGLESS:
            return False
    return True


def _may_stand_alone(config: BrokerConfig) -> bool:
    return config.is_controller and not config.controller_quorum_voters
