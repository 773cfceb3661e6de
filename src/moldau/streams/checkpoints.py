"""The checkpoints of an app: one directory, with a subdirectory for each query.

Spark writes them; here they are only read, to get the progress of a query without starting it. A
checkpoint has for each batch a file in ``offsets/``, written before the batch (its end offsets),
and one in ``commits/``, written after it. So the last commit is the last completed batch, and a
newer offsets file is a batch that the next start will repeat.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from moldau.spark.errors import PipelineError
from moldau.spark.offsets import Offsets
from moldau.streams.progress import offsets_in

_FOLDER: Final = "moldau-streams"
_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]+):(?=/)")


@dataclass(frozen=True)
class QueryCheckpoint:
    """The progress of a query according to its checkpoint."""

    # The last completed batch, and the one that was started and not completed, if any.
    committed_batch: int | None = None
    open_batch: int | None = None
    # When the last batch was planned.
    planned_ms: int | None = None
    watermark_ms: int | None = None
    # The end offsets of the last completed batch.
    offsets: Offsets = field(default_factory=dict)


def default_checkpoint_dir(environment: Mapping[str, str]) -> Path:
    """A directory of the user that survives reboots: without its checkpoint an app starts over.

    Not in the data directory of ``moldau start``, where every directory is a partition.
    """
    base = environment.get("XDG_DATA_HOME") or os.path.join(
        environment.get("HOME") or os.path.expanduser("~"), ".local", "share"
    )
    return Path(base) / _FOLDER


def local_path(checkpoint_dir: str) -> Path | None:
    """``checkpoint_dir`` on this machine; None if only Spark can reach it (``hdfs://``)."""
    scheme = _SCHEME.match(checkpoint_dir)
    if scheme is None:
        return Path(checkpoint_dir).absolute()
    if scheme[1] == "file":
        return Path("/" + checkpoint_dir[scheme.end() :].lstrip("/"))
    return None


def read_checkpoint(folder: Path) -> QueryCheckpoint:
    """The checkpoint of one query; empty if there is none yet.

    Raises:
        PipelineError: one of its files cannot be parsed.
    """
    planned = _batches(folder / "offsets")
    commits = _batches(folder / "commits")
    committed = max(commits, default=None)
    if not planned:
        return QueryCheckpoint(committed)
    last = max(planned)
    metadata, _ = _read_log(folder / "offsets" / str(last))
    is_open = committed is None or committed < last
    offsets: Offsets = {}
    if committed is not None and committed in planned:
        _, positions = _read_log(folder / "offsets" / str(committed))
        for position in positions:
            offsets |= offsets_in(position)
    return QueryCheckpoint(
        committed,
        last if is_open else None,
        metadata.get("batchTimestampMs"),
        metadata.get("batchWatermarkMs") or None,
        offsets,
    )


def delete_checkpoints(folder: Path) -> None:
    """Delete an app's progress and state, if there is any."""
    if folder.exists():
        shutil.rmtree(folder)


def _batches(folder: Path) -> list[int]:
    """The batches that have a file; Spark writes files under another name and renames them."""
    if not folder.is_dir():
        return []
    return sorted(int(each.name) for each in folder.iterdir() if each.name.isdigit())


def _read_log(path: Path) -> tuple[dict[str, Any], list[object]]:
    """Parse an offsets file: a version, metadata of the batch, and a line for each source."""
    try:
        version, *lines = path.read_text(encoding="utf-8").splitlines()
        if not version.startswith("v") or not lines:
            raise ValueError(version)
        metadata, *positions = [json.loads(line) if line != "-" else None for line in lines]
    except ValueError:
        raise PipelineError(
            f"{path} is not a file of offsets as this version of Spark writes it: "
            "moldau stream reset forgets the checkpoint"
        ) from None
    return (metadata if isinstance(metadata, dict) else {}), positions
