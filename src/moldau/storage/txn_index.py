"""The transaction index: the aborted transactions of a segment.

Every fetch response to a ``read_committed`` consumer lists the aborted transactions whose records
it must skip. An entry (34 bytes: version, producer id, first and last offset of the transaction,
last stable offset when it ended) is written when an abort marker is appended to the segment.

Aborts are rare, so the file is created with the first one, and entries are written to and read from
the file directly, without being cached.
"""

from struct import Struct
from typing import Final, NamedTuple

from moldau.storage.disk import Disk, DiskFile
from moldau.storage.index_file import CorruptIndex, sync_file

_ENTRY: Final = Struct(">hqqqq")
_VERSION: Final = 0
_READ_ENTRIES: Final = 1024


class AbortedTxn(NamedTuple):
    """An aborted transaction; ``last_offset`` is the offset of its marker."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class TransactionIndex:
    """The ``.txnindex`` file of one segment."""

    __slots__ = ("_disk", "_file", "_last_offset", "path", "start_offset")

    def __init__(self, disk: Disk, path: str, start_offset: int) -> None:
        """Does not access the disk."""
        self._disk = disk
        self._file: DiskFile | None = None
        self._last_offset = -1
        self.path = path
        self.start_offset = start_offset

    def exists(self) -> bool:
        return self._opened() is not None

    def append(self, txn: AbortedTxn) -> None:
        """Raises ValueError if ``txn`` did not end after the last entry."""
        if txn.last_offset <= self._last_offset:
            raise ValueError(
                f"{self.path}: transaction ends at {txn.last_offset}, not after {self._last_offset}"
            )
        file = self._opened()
        if file is None:
            file = self._file = self._disk.open(self.path, create=True)
        elif file.size % _ENTRY.size:
            # A torn entry from before a crash.
            file.truncate(file.size - file.size % _ENTRY.size)
        file.append((_ENTRY.pack(_VERSION, *txn),))
        self._last_offset = txn.last_offset

    def all(self) -> list[AbortedTxn]:
        """Every entry, in the order in which the transactions ended.

        Raises:
            CorruptIndex: an entry has an unknown version.
        """
        file = self._opened()
        if file is None:
            return []
        txns: list[AbortedTxn] = []
        end = file.size - file.size % _ENTRY.size
        for position in range(0, end, _READ_ENTRIES * _ENTRY.size):
            data = file.pread(min(_READ_ENTRIES * _ENTRY.size, end - position), position)
            for version, *fields in _ENTRY.iter_unpack(data):
                if version != _VERSION:
                    raise CorruptIndex(
                        f"{self.path} has an entry of version {version}: want {_VERSION}"
                    )
                txns.append(AbortedTxn(*fields))
        return txns

    def collect(self, fetch_offset: int, upper_bound_offset: int) -> tuple[list[AbortedTxn], bool]:
        """Aborted transactions that overlap ``fetch_offset`` to ``upper_bound_offset`` (exclusive).

        Also returns whether the result is complete: if not, a later segment may contain the end of
        a transaction that began in the range.
        """
        found: list[AbortedTxn] = []
        for txn in self.all():
            if txn.last_offset >= fetch_offset and txn.first_offset < upper_bound_offset:
                found.append(txn)
            if txn.last_stable_offset >= upper_bound_offset:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Remove transactions that ended at ``offset`` or later."""
        file = self._opened()
        if file is None:
            return
        txns = self.all()
        kept = sum(1 for txn in txns if txn.last_offset < offset)
        if kept < len(txns):
            file.truncate(kept * _ENTRY.size)
        self._last_offset = txns[kept - 1].last_offset if kept else -1

    def reset(self) -> None:
        """Remove all entries."""
        file = self._opened()
        if file is not None:
            file.truncate(0)
        self._last_offset = -1

    def sanity_check(self) -> None:
        """Raises CorruptIndex if an entry cannot belong to this segment."""
        for txn in self.all():
            if txn.last_offset < self.start_offset:
                raise CorruptIndex(
                    f"{self.path} has a transaction that ends at {txn.last_offset}, "
                    f"before the segment's first offset {self.start_offset}"
                )

    def flush(self) -> None:
        if self._file is not None:
            self._file.fsync()
        else:
            sync_file(self._disk, self.path)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def rename(self, path: str) -> None:
        if self.exists():
            self._disk.rename(self.path, path)
        self.moved(path)

    def moved(self, path: str) -> None:
        """Set the path after the directory was renamed."""
        self.path = path
        if self._file is not None:
            self._file.moved(path)

    def remove(self) -> None:
        """Delete the file if there is one."""
        self.close()
        self._last_offset = -1
        self._disk.remove(self.path, missing_ok=True)

    def _opened(self) -> DiskFile | None:
        if self._file is None and self._disk.exists(self.path):
            self._file = self._disk.open(self.path)
            if self._last_offset < 0 and self._file.size >= _ENTRY.size:
                last = self._file.size // _ENTRY.size - 1
                fields = _ENTRY.unpack(self._file.pread(_ENTRY.size, last * _ENTRY.size))
                self._last_offset = fields[3]
        return self._file
