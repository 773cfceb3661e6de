"""Which records of a batch its topic refuses: those without a key, those of the wrong time.

Most batches have none, and a walk (``walk``) tells. For one that does, its records are gone over
again here, to name them to the producer. Naming millions would take more memory than the batch, so
only the first are named, and all are counted.

This module is compiled with Cython where that is at hand (``refused.pxd`` has the types); its
loop then lets other threads run.

Rules this module keeps:

* Whatever the bytes are, the only error is ``ValueError``, and nothing outside of them is read.
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
# What a refused record has in place of its timestamp, if it is its key that is missing.
NO_KEY: Final = -(1 << 63)
_NO_KEY: Final = NO_KEY


class RefusedRecords:
    """What was found so far. ``found`` names the first ``most``, by index and timestamp."""

    def __init__(
        self, base_timestamp: int, *, needs_key: bool, oldest: int, latest: int, most: int
    ) -> None:
        """Records without a timestamp (-1) are of any time."""
        if not -_LIMIT <= base_timestamp < _LIMIT:
            raise ValueError(f"base timestamp {base_timestamp} is out of range")
        self.base_timestamp = base_timestamp
        self.needs_key = needs_key
        self.oldest = oldest
        self.latest = latest
        self.most = most
        # How many records were gone over, how many are refused, how many of these for their time.
        self.passed = 0
        self.refused = 0
        self.of_wrong_time = 0
        self._cells = memoryview(bytearray(16 * most)).cast("q")

    def found(self) -> list[tuple[int, int]]:
        """Index and timestamp of each; ``NO_KEY`` as timestamp says that the key is missing."""
        count = min(self.refused, self.most)
        cells = self._cells
        return [(cells[2 * i], cells[2 * i + 1]) for i in range(count)]

    def look(self, records: bytes | memoryview) -> None:
        """Go over the next records. ``records`` holds whole records only.

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
