"""Moves of many files that happen together with a change of offsets, or not at all.

A file system renames one file atomically, not several, and an object store copies one. So what is
going to be done is written first: the journal of a connector is one small file with the next
offsets and the moves that belong to them, replaced in one step if nobody else has changed it. That
is the commit. A crash after it leaves moves undone, which the next start does; a crash before it
leaves temporary files, which the next start removes. Readers see only files at their final names,
each complete.

    PATH/.moldau/CONNECTOR/journal.json     offsets and moves of the last commit
    PATH/.moldau/CONNECTOR/files/           temporary files of tasks

Each start writes a new writer into the journal. A worker that was replaced while it was away finds
another writer there and cannot commit any more. It may still repeat the moves of its last commit,
which changes nothing: a move is done once, whoever does it.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from moldau.connect.connectors.lake.storage import Move, Storage, Stored
from moldau.connect.data.errors import ConnectError, RetriableError
from moldau.ids import TopicPartition

STATE: Final = ".moldau"
# How often a start tries to take over from a worker that goes on committing.
_STARTS: Final = 10


@dataclass
class _State:
    writer: str = ""
    offsets: dict[TopicPartition, int] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)


def state_folder(connector: str) -> str:
    """The folder of a connector's journal, relative to the root.

    Names of connectors may contain anything, also slashes.
    """
    readable = re.sub(r"[^A-Za-z0-9_-]+", "_", connector)[:40]
    return f"{STATE}/{readable}-{hashlib.sha256(connector.encode()).hexdigest()[:12]}"


class Journal:
    """The commits of one connector below one root."""

    def __init__(self, storage: Storage, connector: str) -> None:
        self._storage = storage
        self._connector = connector
        self.path = f"{state_folder(connector)}/journal.json"
        self.files = f"{state_folder(connector)}/files"
        self._writer = uuid.uuid4().hex

    def start(self, known: Mapping[TopicPartition, int] | None = None) -> None:
        """Take over: finish the last commit, and remove what no commit names.

        ``known`` are the offsets where there is no journal yet.
        """
        with self._storage.errors():
            for _ in range(_STARTS):
                found = self._storage.read(self.path)
                state = self._parsed(found)
                if found is None:
                    state.offsets.update(known or {})
                self._storage.move(state.moves)
                state.writer, state.moves = self._writer, []
                if self._replace(state, found):
                    break
            else:
                raise RetriableError(
                    f"another worker goes on writing to {self._storage.root} for connector "
                    f"{self._connector}: stop it"
                )
            self._storage.check_conditions(self.path)
            # From here on no other worker can commit what it has written there.
            for orphan in self._storage.files(self.files):
                self._storage.remove(orphan)

    @property
    def exists(self) -> bool:
        with self._storage.errors():
            return self._storage.exists(self.path)

    def offsets(self) -> dict[TopicPartition, int]:
        """The next offsets as of the last commit."""
        with self._storage.errors():
            return self._parsed(self._storage.read(self.path)).offsets

    def commit(self, moves: list[Move], offsets: Mapping[TopicPartition, int]) -> None:
        """Make files visible and store offsets, all or nothing.

        Raises:
            ConnectError: another worker has taken over, or a file is already there.
        """
        storage = self._storage
        with storage.errors():
            found = storage.read(self.path)
            state = self._parsed(found)
            if state.writer != self._writer:
                raise self._replaced()
            # An earlier commit of ours may have failed on the way.
            storage.move(state.moves)
            if all(state.offsets.get(place) == offset for place, offset in offsets.items()):
                for move in moves:
                    storage.remove(move.source)
                return
            for move in moves:
                if storage.exists(move.target):
                    raise ConnectError(
                        f"file {storage.root}/{move.target} already exists: another connector "
                        "writes to this path, or the topic was deleted and created again. "
                        "Use another path"
                    )
            state.offsets.update(offsets)
            state.moves = moves
            if not self._replace(state, found):
                if self._parsed(storage.read(self.path)).writer == self._writer:
                    raise RetriableError(f"{storage.root} was slow: an earlier commit came late")
                raise self._replaced()
            storage.move(moves)

    def _replaced(self) -> ConnectError:
        return ConnectError(
            f"another worker writes to {self._storage.root} for connector {self._connector}: "
            "this one stops. Restart the connector if it should take over"
        )

    def _replace(self, state: _State, found: Stored | None) -> bool:
        """Whether the journal is now ``state``; not if it was no longer as it was found."""
        content: dict[str, Any] = {
            "writer": state.writer,
            "offsets": [[*place, offset] for place, offset in sorted(state.offsets.items())],
            "moves": state.moves,
        }
        text = json.dumps(content)
        if self._storage.replace(self.path, text, found):
            return True
        # The answer to our own request may have been lost, and the request repeated.
        now = self._storage.read(self.path)
        return now is not None and now.text == text

    def _parsed(self, stored: Stored | None) -> _State:
        if stored is None:
            return _State()
        try:
            found = json.loads(stored.text)
            return _State(
                found["writer"],
                {TopicPartition(topic, each): at for topic, each, at in found["offsets"]},
                [Move(*move) for move in found["moves"]],
            )
        except (ValueError, KeyError, TypeError) as error:
            root = self._storage.root
            raise ConnectError(
                f"{root}/{self.path} is damaged ({error}): it says which records are in {root}. "
                "Restore it, or remove it to go on from the offsets in the files"
            ) from None
