"""``moldau storage dump``: print the contents of files in a data directory.

Each file becomes a stream of entries, which are printed as ``name: value`` pairs on one line, or
as one JSON object per line. An entry with ``error`` says what is wrong and where; the rest of the
file is still printed if it can be found.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TextIO

from moldau.cli.dump_index import dump_offset_index, dump_time_index, dump_txn_index
from moldau.cli.dump_log import LogOptions, dump_log
from moldau.cli.dump_records import Decoder, decoder_of
from moldau.cli.errors import CommandError
from moldau.ids import uuid_to_str
from moldau.storage.disk import checkpoint
from moldau.storage.disk.disk import RealDisk
from moldau.storage.log.producer_snapshot import CorruptSnapshot, decode_snapshot

Entry = dict[str, Any]


class DumpOptions(NamedTuple):
    """What to print, and how."""

    log: LogOptions = LogOptions()
    verifies_only: bool = False
    is_json: bool = False


_INDEXES: Final = (".index", ".timeindex", ".txnindex")
# Suffixes of files that are about to be added or deleted.
_LEFTOVERS: Final = (".deleted", ".cleaned", ".swap", ".part")
_OFFSET_CHECKPOINTS: Final = (
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
)


def dump_paths(paths: Iterable[str], options: DumpOptions, out: TextIO) -> bool:
    """Print the files and return whether all of them are sound."""
    is_sound = True
    for path in paths:
        for file in _files(Path(path), options):
            if not options.is_json:
                out.write(f"{file}\n")
            found_error = False
            count = 0
            for entry in dump_file(file, options):
                found_error = found_error or "error" in entry
                count += 1
                if options.verifies_only and "error" not in entry:
                    continue
                _write(entry, file, options, out)
            if not options.is_json and not count:
                out.write("  empty\n")
            elif not options.is_json and options.verifies_only and not found_error:
                out.write(f"  sound: {count} entries\n")
            is_sound = is_sound and not found_error
    return is_sound


def dump_file(path: Path, options: DumpOptions) -> Iterator[Entry]:
    """The entries of a file of a known kind."""
    dumper = _dumper(path, options)
    assert dumper is not None, f"{path}: not a broker file"
    try:
        yield from dumper()
    except (checkpoint.CorruptCheckpoint, CorruptSnapshot, ValueError) as error:
        yield {"error": str(error)}


def _files(path: Path, options: DumpOptions) -> list[Path]:
    if not path.exists():
        raise CommandError(f"{path}: no such file or directory")
    if not path.is_dir():
        if _dumper(path, options) is None:
            raise CommandError(f"{path}: not a broker file")
        return [path]
    known = [
        file
        for file in sorted(path.iterdir())
        if file.is_file() and _dumper(file, options) is not None
    ]
    if options.verifies_only:
        known = [file for file in known if file.suffix in _INDEXES]
    if not known:
        raise CommandError(f"{path}: contains no broker files")
    return known


def _dumper(path: Path, options: DumpOptions) -> Callable[[], Iterable[Entry]] | None:
    """The function that reads this kind of file, chosen by name."""
    name = path.name
    for leftover in _LEFTOVERS:
        name = name.removesuffix(leftover)
    suffix = os.path.splitext(name)[1]
    if suffix == ".log":
        return lambda: dump_log(path, _log_options(path, options.log))
    if suffix == ".checkpoint":
        decoded = LogOptions(True, True, options.log.skips_record_metadata, Decoder.METADATA)
        return lambda: dump_log(path, decoded)
    if suffix == ".index":
        return lambda: dump_offset_index(path, verifies=options.verifies_only)
    if suffix == ".timeindex":
        return lambda: dump_time_index(path, verifies=options.verifies_only)
    if suffix == ".txnindex":
        return lambda: dump_txn_index(path)
    if suffix == ".snapshot":
        return lambda: _producer_snapshot(path)
    if name in _OFFSET_CHECKPOINTS:
        return lambda: _offsets(path)
    named: dict[str, Callable[[Path], Iterable[Entry]]] = {
        "leader-epoch-checkpoint": _leader_epochs,
        "partition.metadata": _partition_metadata,
        "meta.properties": _meta_properties,
        "quorum-state": _quorum_state,
        ".kafka_cleanshutdown": _broker_epoch,
        ".moldau_running": _broker_epoch,
    }
    return (lambda: named[name](path)) if name in named else None


def _log_options(path: Path, options: LogOptions) -> LogOptions:
    """For internal topics, decode and show the records too."""
    decoder = options.decoder or decoder_of(path.absolute().parent.name)
    if decoder is None:
        return options
    return options._replace(decoder=decoder, shows_records=True, shows_data=True)


def _producer_snapshot(path: Path) -> Iterator[Entry]:
    for producer in decode_snapshot(path.read_bytes()):
        yield {
            "producer_id": producer.producer_id,
            "producer_epoch": producer.epoch,
            "coordinator_epoch": producer.coordinator_epoch,
            "txn_first_offset": producer.txn_first_offset,
            "last_sequence": producer.last_sequence,
            "last_offset": producer.last_offset,
            "last_offset_delta": producer.last_offset_delta,
            "last_timestamp": producer.last_timestamp,
        }


def _offsets(path: Path) -> Iterator[Entry]:
    for partition, offset in checkpoint.read_offsets(RealDisk(), str(path)).items():
        yield {"topic": partition.topic, "partition": partition.partition, "offset": offset}


def _leader_epochs(path: Path) -> Iterator[Entry]:
    for epoch, start in checkpoint.read_leader_epochs(RealDisk(), str(path)):
        yield {"leader_epoch": epoch, "start_offset": start}


def _partition_metadata(path: Path) -> Iterator[Entry]:
    topic_id = checkpoint.read_partition_metadata(RealDisk(), str(path.parent))
    yield {"topic_id": None if topic_id is None else uuid_to_str(topic_id)}


def _meta_properties(path: Path) -> Iterator[Entry]:
    properties = checkpoint.read_meta_properties(RealDisk(), str(path.parent))
    if properties is not None:
        entry = properties._asdict()
        yield {name: _shown(value) for name, value in entry.items()}


def _quorum_state(path: Path) -> Iterator[Entry]:
    state = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(state, dict):
        raise ValueError("quorum-state is not a JSON object")
    yield state


def _broker_epoch(path: Path) -> Iterator[Entry]:
    yield {"broker_epoch": checkpoint.read_broker_epoch(RealDisk(), str(path))}


def _shown(value: Any) -> Any:
    return uuid_to_str(value) if isinstance(value, bytes) else value


def _write(entry: Entry, file: Path, options: DumpOptions, out: TextIO) -> None:
    if options.is_json:
        shown = {"file": os.fspath(file), **entry}
        out.write(json.dumps(shown, ensure_ascii=False) + "\n")
        return
    records = entry.get("records", ())
    head = {name: value for name, value in entry.items() if name not in _not_shown(entry)}
    out.write(f"  {as_text(head)}\n")
    for record in records:
        out.write(f"    {as_text(record)}\n")


def _not_shown(entry: Entry) -> set[str]:
    """Fields left out for brevity: flags that are not set, and absent producer ids."""
    hidden = {"records", "max_timestamp", "crc", "magic"} if "magic" in entry else set()
    hidden |= {name for name in ("is_transactional", "is_control") if not entry.get(name)}
    if entry.get("producer_id") == -1:
        hidden |= {"producer_id", "producer_epoch", "base_sequence", "last_sequence"}
    return hidden


def as_text(entry: Entry) -> str:
    """``name: value  name: value``; nested values as compact JSON."""
    parts = []
    for name, value in entry.items():
        if isinstance(value, dict | list):
            text = json.dumps(value, ensure_ascii=False)
        elif isinstance(value, bool):
            text = "true" if value else "false"
        else:
            text = "null" if value is None else str(value)
        parts.append(f"{name}: {text}")
    return "  ".join(parts)
