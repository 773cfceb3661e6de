"""What records are made of: zig-zag varints, and bytes that are copied as they are.

Every loop of the record kernel reads and writes these few, each by a position that it takes and
one after it that it gives. They are called several times for each record, so a call must cost
nothing: compiled modules have them in line from ``primitives.pxd``, and these here are for where
nobody compiled them. Each module of the kernel takes its pick behind ``cython.compiled``.

Nothing is checked here. Whoever calls knows that a varint ends, that a number has at most 64 bits
and that there is room.
"""


def varint_size(value: int) -> int:
    """How many bytes ``value`` takes."""
    raw = (value << 1) ^ (value >> 63)
    size = 1
    while raw >= 0x80:
        raw >>= 7
        size += 1
    return size


def write_varint(target: bytearray, to: int, value: int) -> int:
    """Write ``value``; the position after it."""
    raw = (value << 1) ^ (value >> 63)
    while raw >= 0x80:
        target[to] = raw & 0x7F | 0x80
        raw >>= 7
        to += 1
    target[to] = raw
    return to + 1


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number, and the position after it."""
    raw = 0
    shift = 0
    byte = 0x80
    while byte >= 0x80:
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        shift += 7
    return (raw >> 1) ^ -(raw & 1), at


def after_varint(data: bytes, at: int) -> int:
    """The position after a number, whatever it is."""
    while data[at] >= 0x80:
        at += 1
    return at + 1


def copy(target: bytearray, to: int, source: bytes | memoryview, start: int, end: int) -> int:
    """Copy ``source`` from ``start`` to ``end``; the position after it in ``target``."""
    target[to : to + end - start] = source[start:end]
    return to + end - start


def bytes_at(data: bytes | memoryview) -> bytes | memoryview:
    """What is in ``data``, from its first byte on; compiled, its address.

    Good for as long as ``data`` is: a view must be of whole bytes, in a row, and not released.
    """
    return data
