"""A row of PostgreSQL's log as JSON: from the texts of its columns to the very bytes of a record.

The capture of changes (``moldau.connect.connectors.postgres``) plans once per table which columns
come in which order, and what stands between them; ``write_row`` follows the plan for each row. It
writes the most frequent types itself. For any other value, and for one that it does not recognise,
it calls the function of the column, which knows all of them, so what it writes is the same.

This module is here because it is compiled with Cython if available (``row_json.pxd`` has the
types): a row then costs less than creating its texts as objects. Interpreted it is slower than
those functions alone, so it is only used if it is compiled.

Rules this module keeps:

* Nothing outside the row is read, whatever its lengths say.
* A row that it cannot write gives None, and the caller finds out why.
"""

from collections.abc import Callable, Sequence
from typing import Final

from moldau.record import interpreted as cython

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore
if not cython.compiled:  # Otherwise inlined from ``.pxd`` files.
    from moldau.record.primitives import copy

IS_COMPILED: Final = cython.compiled

# How the text of a column becomes JSON: by its function, unchanged, as a string, as true or false,
# as the base64 of a number without its point, or as a moment in UTC.
OTHER: Final = 0
UNCHANGED: Final = 1
STRING: Final = 2
BOOLEAN: Final = 3
DECIMAL: Final = 4
MOMENT: Final = 5

_OTHER: Final = 0
_UNCHANGED: Final = 1
_STRING: Final = 2
_BOOLEAN: Final = 3
_DECIMAL: Final = 4
_MOMENT: Final = 5
# A field of the plan: the place of its column and its type, with a number of digits; where its name
# ends in the texts, and then what stands for null.
_FIELD_BYTES: Final = 12
# More than what a short value takes, and what comes around any.
_ROOM: Final = 64
_MAX_DIGITS: Final = 18
# pgoutput's marks of values.
_TEXT: Final = 116
_NULL: Final = 110
# The mark of a text, and its length.
_MARK_BYTES: Final = 5

Writers = Sequence[Callable[[str], str]]


class RowPlan:
    """How rows of a table become JSON objects.

    Args:
        start: what comes before the first field: a brace, and whatever is before it.
        fields: for each field the place of its column, in the order of the object; its type, and
            how many digits a value has after its point; what comes before its value, such as
            ``,"name":``; and what it is if the column is null.
        writers: the functions that write a value of each field.

    Raises:
        ValueError: a column comes twice, or a value could take more room than is reserved for it.
    """

    def __init__(
        self,
        start: bytes,
        fields: Sequence[tuple[int, int, int, bytes, bytes]],
        writers: Writers,
    ) -> None:
        # The room for an object relies on it.
        is_sound = len({field[0] for field in fields}) == len(fields) == len(writers)
        if not is_sound or any(field[2] > _MAX_DIGITS for field in fields):
            raise ValueError(
                f"a plan needs a column and a function for each field, not {len(writers)} functions"
                f" for {[field[0] for field in fields]}, and at most {_MAX_DIGITS} digits"
            )
        plan, texts = bytearray(), bytearray(start)
        for place, kind, digits, before, null in fields:
            texts += before
            before_end = len(texts)
            texts += null
            plan += place.to_bytes(2, "big") + bytes([kind, digits])
            plan += before_end.to_bytes(4, "big") + len(texts).to_bytes(4, "big")
        self.start_size = len(start)
        self.plan = bytes(plan)
        self.texts = bytes(texts)
        self.writers = list(writers)
        self.scratch = bytearray(1 << 16)


def write_row(data: bytes, start: int, rows: RowPlan, tail: bytes) -> bytes | None:
    """The object of the row that begins at ``start``, and ``tail`` after it.

    None if it is cut short, has fewer columns than the plan, or a value that the log does not have
    (of TOAST, not changed). Raises what the functions raise.
    """
    plan_bytes, text_bytes, scratch = rows.plan, rows.texts, rows.scratch
    source = data
    plan = plan_bytes
    texts = text_bytes
    size = len(data)
    count = len(plan_bytes) // _FIELD_BYTES
    if start < 0 or start + 2 > size:
        return None
    # Escaping doubles a string at most, and no column comes twice.
    room = 2 * size + len(text_bytes) + _ROOM * (count + 1) + len(tail)
    if room > len(scratch):
        scratch = bytearray(room)
    capacity = len(scratch)
    target = scratch
    # After the number of columns: the row is the last part of its message.
    at = start + 2
    column = 0
    text = rows.start_size
    to = copy(target, 0, texts, 0, text)
    for field in range(count):
        entry = field * _FIELD_BYTES
        place = plan[entry] << 8 | plan[entry + 1]
        if place < column:
            at = start + 2
            column = 0
        while column <= place:
            begin = at
            at = _after_value(source, at, size)
            if at < 0:
                return None
            column += 1
        before_end = _number(plan, entry + 4)
        null_end = _number(plan, entry + 8)
        to = copy(target, to, texts, text, before_end)
        text = null_end
        if source[begin] == _NULL:
            to = copy(target, to, texts, before_end, null_end)
            continue
        begin += _MARK_BYTES
        after = _write(plan[entry + 2], plan[entry + 3], source, begin, at, target, to)
        if after >= 0:
            to = after
            continue
        written = rows.writers[field](data[begin:at].decode()).encode()
        if to + len(written) + room > capacity:
            capacity = to + len(written) + room
            scratch = _larger(scratch, to, capacity)
            target = scratch
        other = written
        to = copy(target, to, other, 0, len(written))
    target[to] = 0x7D
    other = tail
    to = copy(target, to + 1, other, 0, len(tail))
    return bytes(target[:to])


def _after_value(source: bytes, at: int, size: int) -> int:
    """The position after the text or null that begins at ``at``; -1 if neither is there."""
    if at >= size:
        return -1
    if source[at] == _NULL:
        return at + 1
    if source[at] != _TEXT or at + _MARK_BYTES > size:
        return -1
    end = at + _MARK_BYTES + _number(source, at + 1)
    return end if end <= size else -1


def _larger(scratch: bytearray, used: int, capacity: int) -> bytearray:
    """A copy with room for ``capacity`` bytes. It is not kept: few rows are so long."""
    made = bytearray(capacity)
    made[:used] = scratch[:used]
    return made


def _number(data: bytes, at: int) -> int:
    """Four bytes, the most significant first."""
    high = data[at] << 8 | data[at + 1]
    return high << 16 | data[at + 2] << 8 | data[at + 3]


def _write(
    kind: int, digits: int, source: bytes, at: int, end: int, target: bytearray, to: int
) -> int:
    """Write a value; returns the position after it, or -1 if its function must write it."""
    if kind == _UNCHANGED:
        return copy(target, to, source, at, end)
    if kind == _STRING:
        return _write_string(source, at, end, target, to)
    if kind == _DECIMAL:
        return _write_decimal(digits, source, at, end, target, to)
    if kind == _MOMENT:
        return _write_moment(digits, source, at, end, target, to)
    if kind == _BOOLEAN:
        return _write_boolean(source, at, end, target, to)
    return -1


def _write_string(source: bytes, at: int, end: int, target: bytearray, to: int) -> int:
    """Not control characters, and none beyond 16 bits, which Jackson escapes."""
    target[to] = 0x22
    to += 1
    while at < end:
        byte = source[at]
        if byte < 0x20 or byte >= 0xF0:
            return -1
        if byte == 0x22 or byte == 0x5C:
            target[to] = 0x5C
            to += 1
        target[to] = byte
        to += 1
        at += 1
    target[to] = 0x22
    return to + 1


def _write_boolean(source: bytes, at: int, end: int, target: bytearray, to: int) -> int:
    if end - at != 1:
        return -1
    if source[at] == 0x74:  # t
        target[to] = 0x74
        target[to + 1] = 0x72
        target[to + 2] = 0x75
        target[to + 3] = 0x65
        return to + 4
    if source[at] == 0x66:  # f
        target[to] = 0x66
        target[to + 1] = 0x61
        target[to + 2] = 0x6C
        target[to + 3] = 0x73
        target[to + 4] = 0x65
        return to + 5
    return -1


def _write_decimal(
    digits: int, source: bytes, at: int, end: int, target: bytearray, to: int
) -> int:
    """``-12.50`` with two digits after the point is -1250, as bytes of the two's complement."""
    is_negative = at < end and source[at] == 0x2D
    if is_negative:
        at += 1
    point = end - digits - 1
    if digits == 0 or point <= at or end - at > _MAX_DIGITS + 1 or source[point] != 0x2E:
        return -1
    value = 0
    while at < end:
        if at != point:
            byte = source[at]
            if byte < 0x30 or byte > 0x39:
                return -1
            value = value * 10 + (byte - 0x30)
        at += 1
    limit = value
    if is_negative:
        value = -value
        # As many bits as a number that is smaller by one has.
        limit = -value - 1 if value < 0 else 0
    size = 1
    while limit >> (8 * size - 1):
        size += 1
    return _write_base64(value, size, target, to)


def _write_base64(value: int, size: int, target: bytearray, to: int) -> int:
    """The last ``size`` bytes of ``value``, the most significant first."""
    target[to] = 0x22
    to += 1
    left = size
    while left > 0:
        group = (value >> 8 * (left - 1) & 0xFF) << 16
        if left > 1:
            group |= (value >> 8 * (left - 2) & 0xFF) << 8
        if left > 2:
            group |= value >> 8 * (left - 3) & 0xFF
        target[to] = _base64(group >> 18)
        target[to + 1] = _base64(group >> 12 & 63)
        target[to + 2] = _base64(group >> 6 & 63) if left > 1 else 0x3D
        target[to + 3] = _base64(group & 63) if left > 2 else 0x3D
        to += 4
        left -= 3
    target[to] = 0x22
    return to + 1


def _base64(six: int) -> int:
    """The character of six bits."""
    if six < 26:
        return 0x41 + six
    if six < 52:
        return 0x61 + six - 26
    if six < 62:
        return 0x30 + six - 52
    return 0x2B if six == 62 else 0x2F


def _write_moment(digits: int, source: bytes, at: int, end: int, target: bytearray, to: int) -> int:
    """``2021-02-03 03:05:06.78+00`` as ``2021-02-03T03:05:06.780000Z``, with that many digits."""
    zone = end - 3
    if zone - at < 19 or source[at + 4] != 0x2D or source[at + 10] != 0x20:
        return -1
    if source[zone] != 0x2B or source[zone + 1] != 0x30 or source[zone + 2] != 0x30:
        return -1
    if zone - at > 19 and source[at + 19] != 0x2E:
        return -1
    target[to] = 0x22
    to = copy(target, to + 1, source, at, at + 10)
    target[to] = 0x54
    to = copy(target, to + 1, source, at + 11, at + 19)
    if digits:
        target[to] = 0x2E
        to += 1
        at += 20
        while digits:
            target[to] = source[at] if at < zone else 0x30
            to += 1
            at += 1
            digits -= 1
    target[to] = 0x5A
    target[to + 1] = 0x22
    return to + 2
