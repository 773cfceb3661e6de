"""``TIMESTAMP AS OF`` and ``VERSION AS OF``: a topic as it was, up to an offset per partition.

A log only grows at its end, so its past is a cut: everything before an offset in each partition.
At a timestamp the cut is before the first record that is younger. A version names the offsets
themselves, as ``{"0": 17}``: the first 17 records of partition 0.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

from moldau.client.offsets import LATEST
from moldau.ids import TopicPartition
from moldau.sql.errors import Span, SqlError
from moldau.sql.plan import AsOf

Offsets = dict[TopicPartition, int]


def version_cut(
    topic: str, as_of: AsOf, starts: Mapping[TopicPartition, int], ends: Offsets
) -> Offsets:
    """The ending offsets that ``VERSION AS OF`` names.

    Raises:
        SqlError: it is not JSON, a partition is missing or unknown, or an offset does not exist.
    """
    assert as_of.version is not None
    numbers = _parse_version(topic, as_of.version, as_of.span, len(ends))
    missing = sorted(each.partition for each in ends if each.partition not in numbers)
    unknown = sorted(each for each in numbers if TopicPartition(topic, each) not in ends)
    if missing or unknown:
        wrong = f"partition {missing[0]} is missing" if missing else f"no partition {unknown[0]}"
        raise SqlError(
            f"VERSION AS OF must name every partition of {topic} and no other ({wrong})",
            f"its ends now are {_example(ends)}",
            as_of.span,
        )
    cut = {}
    for partition, end in ends.items():
        number = numbers[partition.partition]
        wanted = end if number == LATEST else number
        start = starts[partition]
        if not start <= wanted <= end:
            raise SqlError(
                f"partition {partition.partition} of {topic} has offsets {start} to {end}, "
                f"and not {wanted}",
                "records before were deleted, choose a later version"
                if wanted < start
                else "choose an earlier version",
                as_of.span,
            )
        cut[partition] = wanted
    return cut


def _parse_version(topic: str, text: str, span: Span, partitions: int) -> dict[int, int]:
    try:
        parsed = json.loads(text)
        if isinstance(parsed, int) and not isinstance(parsed, bool) and partitions == 1:
            parsed = {"0": parsed}
        numbers = {int(partition): offset for partition, offset in parsed.items()}
        if not all(type(each) is int and each >= LATEST for each in numbers.values()):
            raise ValueError(text)
    except (ValueError, AttributeError, TypeError):
        raise SqlError(
            f"VERSION AS OF {text} names no offsets",
            f"write an offset per partition of {topic} as JSON: VERSION AS OF '{{\"0\": 17}}'",
            span,
        ) from None
    return numbers


def check_moment(
    topic: str, moment_ms: int, starts: Offsets, cut: Offsets, first_ms: int | None, span: Span
) -> None:
    """Refuse a moment before the log.

    Raises:
        SqlError: nothing of the topic is as old as ``moment_ms``.
    """
    if any(cut[each] > starts[each] for each in cut) or first_ms is None:
        return
    gone = " what was there before was deleted" if any(starts.values()) else ""
    raise SqlError(
        f"{topic} has no records from {_shown(moment_ms)} or before{';' + gone if gone else ''}",
        f"its oldest record is of {_shown(first_ms)}",
        span,
    )


def _shown(moment_ms: int) -> str:
    moment = datetime.fromtimestamp(moment_ms / 1000, tz=UTC)
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")


def _example(offsets: Mapping[TopicPartition, int]) -> str:
    return json.dumps({str(each.partition): offset for each, offset in sorted(offsets.items())})


def offsets_option(topic: str, offsets: Mapping[TopicPartition, int]) -> str:
    """The offsets as the options of ``format("moldau")`` take them."""
    return json.dumps(
        {topic: {str(each.partition): offset for each, offset in sorted(offsets.items())}}
    )
