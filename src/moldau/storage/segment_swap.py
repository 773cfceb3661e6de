"""A cleaned segment takes the place of those it was made from, in steps.

With the first step it is in the list of segments, and on the disk it has the suffix ``.swap``:
worth more than its sources, whatever happens next. The others put the names of files right.
Each renames a few files, which takes the disk some ten microseconds each; a client should not
have to wait for all of them.

Between two steps the log can be read and written, for a segment knows what its files are called.
Whoever changes more than that must have the rest done first (``Cleaning.abort``), or else close
the log: then the next start does it (``leftovers``).
"""

from collections.abc import Iterator, Sequence

from moldau.storage.leftovers import CLEANED_SUFFIX, SWAP_SUFFIX
from moldau.storage.partition_log import PartitionLog
from moldau.storage.segment import Segment


def swap_segments(
    log: PartitionLog, cleaned: Segment, sources: Sequence[Segment]
) -> Iterator[None]:
    """Swap a segment with the suffix ``.cleaned`` in, a step at a time.

    Raises:
        ApiError: KAFKA_STORAGE_ERROR; the directory is offline then, and the next start
            finds the sources or finishes the swap.
    """
    try:
        cleaned.change_suffix(CLEANED_SUFFIX, SWAP_SUFFIX)
        log.replace_segments(sources, cleaned)
        for source in sources:
            yield
            if log.is_closed:
                return
            log.discard([source], keep_snapshot=cleaned.base_offset)
        yield
        if not log.is_closed:
            cleaned.change_suffix(SWAP_SUFFIX, "")
    except OSError as error:
        # Half of the names are changed: not even a full disk is an excuse here.
        raise log.storage_error(error, "swapping segments of", in_fsync=True) from error
