"""``moldau storage verify``: check data directories for damage.

The checks are in ``storage/verification``. This module chooses the directories, locks them against
brokers, and prints the findings. Nothing is written.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from moldau.cli.cluster_facts import ClusterFacts, read_cluster_facts
from moldau.cli.errors import CommandError, UsageError
from moldau.cli.output import plural
from moldau.cli.progress import Progress
from moldau.storage.disk.checkpoint import META_PROPERTIES
from moldau.storage.disk.disk import Disk
from moldau.storage.disk.read_only_disk import ReadOnlyDisk
from moldau.storage.log_dirs import parse_directory
from moldau.storage.verification.directory_use import SharedDirectoryLock
from moldau.storage.verification.findings import Finding, Options, Severity, Tally
from moldau.storage.verification.log_dir_check import LogDirsCheck, Target


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Check every batch, checksum and index in data directories that no broker is using. "
        "Changes nothing. If anything is damaged, prints where and exits with code 1."
    )
    parser.add_argument(
        "paths", nargs="*", metavar="DIR", help="a data directory, or the directory of a partition"
    )
    parser.add_argument(
        "-c", "--config", metavar="FILE", help="a server.properties: check its log.dirs"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="check the checksums of batches, but not the records inside",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="json: one object per line"
    )
    parser.set_defaults(action=run)


def run(options: argparse.Namespace) -> int:
    paths = [*options.paths, *(_configured(options.config) if options.config else ())]
    if not paths:
        raise UsageError(
            "storage verify: a data directory, or a server.properties with -c, is required"
        )
    disk = ReadOnlyDisk()
    targets = find_targets(disk, paths)
    is_json = options.format == "json"
    with _locked(targets):
        facts = read_cluster_facts(disk, [target.log_dir for target in targets])
        started_s = time.monotonic()
        counts, tally = _verify(
            disk, targets, facts, Options(opens_batches=not options.quick), is_json
        )
    _print_summary(counts, tally, time.monotonic() - started_s, is_json)
    return 1 if counts[Severity.DAMAGE] else 0


def _configured(path: str) -> list[str]:
    from moldau.broker.format import all_directories
    from moldau.cli.start import read_config

    return all_directories(read_config(path, None, None, [], os.environ))


def find_targets(disk: Disk, paths: Sequence[str]) -> list[Target]:
    """The log directories that ``paths`` name, each once.

    Raises:
        CommandError: a path is not a directory of a broker.
    """
    chosen: dict[str, set[str] | None] = {}
    for given in paths:
        path = os.path.abspath(given)
        if not disk.is_dir(path):
            hint = "'moldau storage dump' shows files" if disk.exists(path) else "it does not exist"
            raise CommandError(f"{given}: not a directory ({hint})")
        is_formatted = disk.exists(os.path.join(path, META_PROPERTIES))
        log_dir, name = os.path.split(path)
        if is_formatted or any(parse_directory(each) for each in disk.list_dir(path)):
            chosen[path] = None
        elif parse_directory(name) is not None:
            names = chosen.setdefault(log_dir, set())
            if names is not None:
                names.add(name)
        else:
            raise CommandError(
                f"{given}: neither a data directory nor a partition's directory: it contains no "
                f"{META_PROPERTIES} and no directory such as orders-0"
            )
    return [
        Target(log_dir, None if names is None else frozenset(names))
        for log_dir, names in chosen.items()
    ]


@contextmanager
def _locked(targets: Sequence[Target]) -> Iterator[None]:
    """Keep brokers out of the directories. Raises DirectoryInUse if one is running there."""
    locks: list[SharedDirectoryLock] = []
    try:
        for target in targets:
            locks.append(SharedDirectoryLock(target.log_dir))  # noqa: PERF401  # each is held at once
        yield
    finally:
        for lock in locks:
            lock.release()


def _verify(
    disk: Disk, targets: Sequence[Target], facts: ClusterFacts, options: Options, is_json: bool
) -> tuple[dict[Severity, int], Tally]:
    counts = dict.fromkeys(Severity, 0)
    tally = Tally()
    check = LogDirsCheck(disk, targets, options, tally, facts.topics)
    progress = Progress(check.size_bytes())
    tally.on_bytes = lambda seen: progress.update(seen.bytes, seen.records)
    for findings in (facts.findings, check.run()):
        for finding in findings:
            counts[finding.severity] += 1
            progress.finish()
            _print_finding(finding, is_json)
    progress.finish()
    return counts, tally


def _print_finding(finding: Finding, is_json: bool) -> None:
    if is_json:
        print(json.dumps(_as_json(finding), ensure_ascii=False))
        return
    place = [finding.path]
    if finding.position is not None:
        place.append(f"position {finding.position}")
    if finding.offset is not None:
        place.append(f"offset {finding.offset}")
    print(f"{finding.severity.upper()}  {', '.join(place)}")
    print(f"    {finding.problem}")
    if finding.follows:
        print(f"    follows: {finding.follows}")
    if finding.remedy:
        print(f"    remedy: {finding.remedy}")


def _as_json(finding: Finding) -> dict[str, Any]:
    fields = finding._asdict()
    return {"severity": str(finding.severity), "file": fields.pop("path"), **fields}


def _print_summary(
    counts: dict[Severity, int], tally: Tally, elapsed_s: float, is_json: bool
) -> None:
    damages, notes = counts[Severity.DAMAGE], counts[Severity.NOTE]
    if is_json:
        summary = {
            "damages": damages,
            "notes": notes,
            "partitions": tally.partitions,
            "segments": tally.segments,
            "bytes": tally.bytes,
            "batches": tally.batches,
            "records": tally.records,
            "index_entries": tally.index_entries,
            "snapshots": tally.snapshots,
            "seconds": round(elapsed_s, 3),
        }
        print(json.dumps({"summary": summary}))
        return
    megabytes = tally.bytes / 1e6
    print(
        f"{plural(tally.partitions, 'partition')}, {plural(tally.segments, 'segment')}, "
        f"{megabytes:,.1f} MB, {tally.batches:,} batches, {tally.records:,} records, "
        f"{tally.index_entries:,} index entries, {plural(tally.snapshots, 'snapshot')} "
        f"in {elapsed_s:,.1f} s"
    )
    verdict = f"{plural(damages, 'damaged place')} found" if damages else "sound: no damage"
    print(f"{verdict}, {plural(notes, 'note')}")
    sys.stdout.flush()
