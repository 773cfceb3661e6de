"""The records of a batch that its topic refuses: without a key, or with a wrong timestamp.

Most batches have none, which a walk (``walk``) detects. If there are any, the records are scanned
again here, to list them in the response. Listing millions would take more memory than the batch, so
only the first are listed, and all are counted.

This module is compiled with Cython if available (``refused.pxd`` has the types); its loop then
releases the GIL.

Rules this module keeps:

* For any input the only error is ``ValueError``, and nothing outside the input is read.
"""

from typing import Final

from moldau.record import interpreted as cython
from moldau.record.checked import describe_fault

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``.pxd`` files.
    from moldau.record.checked import fault, read_checked
    from moldau.record.primitives import bytes_at

_LIMIT: Final = 1 << 62
# In place of the timestamp of a refused record whose key is missing.
NO_KEY: Final = -(1 << 63)
_NO_KEY: Final = NO_KEY


class RefusedRecords:
    """The refused records so far. ``found`` lists the first ``most``, by index and timestamp."""

    def __init__(
        self, base_timestamp: int, *, needs_key: bool, oldest: int, latest: int, most: int
    ) -> None:
        """Records without a timestamp (-1) are never refused for their time."""
        if not -_LIMIT <= base_timestamp < _LIMIT:
            raise ValueError(f"base timestamp {base_timestamp} is out of range")
        self.base_timestamp = base_timestamp
        self.needs_key = needs_key
        self.oldest = oldest
        self.latest = latest
        self.most = most
        # The numbers of records scanned, of records refused, and of those refused for their time.
        self.passed = 0
        self.refused = 0
        self.of_wrong_time = 0
        self._cells = memoryview(bytearray(16 * most)).cast("q")

    def found(self) -> list[tuple[int, int]]:
        """Index and timestamp of each; ``NO_KEY`` as timestamp means that the key is missing."""
        count = min(self.refused, self.most)
        cells = self._cells
        return [(cells[2 * i], cells[2 * i + 1]) for i in range(count)]

    def look(self, records: bytes | memoryview) -> None:
        """Scan the next records. ``records`` must contain complete records only.

        Raises:
            ValueError: the records are damaged.
        """
        source = bytes_at(records)
        size = len(records)
        cells = self._cells
        at = 0
        with cython.nogil:
            while at < size:
                start = at
                length, at = read_checked(source, at, size)
                if at >= 0 and (length < 6 or length > size - at):
                    at = fault(start, 2)
                if at < 0:
                    break
                end = at + length
                delta, at = read_checked(source, at + 1, end)
                _, at = read_checked(source, at, end)
                length, at = read_checked(source, at, end)
                if at < 0:
                    break
                if delta < -_LIMIT or delta >= _LIMIT:
                    at = fault(start, 5)
                    break
                timestamp = self.base_timestamp + delta
                is_refused = self.needs_key and length < 0
                if is_refused:
                    timestamp = _NO_KEY
                elif timestamp != -1 and (timestamp < self.oldest or timestamp > self.latest):
                    is_refused = True
                    self.of_wrong_time += 1
                if is_refused:
                    if self.refused < self.most:
                        cells[2 * self.refused] = self.passed
                        cells[2 * self.refused + 1] = timestamp
                    self.refused += 1
                self.passed += 1
                at = end
        if at < 0:
            raise ValueError(f"record {self.passed} is {describe_fault(at)}")
