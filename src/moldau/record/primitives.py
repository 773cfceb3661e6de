"""The primitives of records: zig-zag varints, and copied bytes.

All loops of the record kernel use these functions, each of which takes a position and returns the
one after it. They are called several times per record, so a call must cost nothing: compiled
modules have them inlined from ``primitives.pxd``, and these are used if nothing is compiled. Each
module of the kernel chooses by ``cython.compiled``.

Nothing is checked here. The caller must ensure that a varint is complete, that a number has at most
64 bits and that there is enough space.
"""


def varint_size(value: int) -> int:
    """The number of bytes that ``value`` takes."""
    raw = (value << 1) ^ (value >> 63)
    size = 1
    while raw >= 0x80:
        raw >>= 7
        size += 1
    return size


def write_varint(target: bytearray | memoryview, to: int, value: int) -> int:
    """Write ``value``; returns the position after it."""
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
    """The position after a number, without decoding it."""
    while data[at] >= 0x80:
        at += 1
    return at + 1


def copy(
    target: bytearray | memoryview, to: int, source: bytes | memoryview, start: int, end: int
) -> int:
    """Copy ``source`` from ``start`` to ``end``; returns the position after it in ``target``."""
    target[to : to + end - start] = source[start:end]
    return to + end - start


def bytes_at(data: bytes | memoryview) -> bytes | memoryview:
    """The contents of ``data``; in compiled code, its address.

    Valid as long as ``data`` is: a view must consist of contiguous bytes and must not be released.
    """
    return data


def room_at(room: memoryview) -> memoryview:
    """The writable contents of ``room``, as with ``bytes_at``."""
    return room
