"""The hash that determines the partition of a key: Murmur2 with Kafka's seed.

Every client with the default partitioner computes it, so that equal keys go to the same partition
whichever client sends them. ``hash_keys`` computes it for all keys of a column at once.

This module is compiled with Cython if available (``key_hash.pxd`` has the types); its loop then
releases the GIL.
"""

from typing import Final

from moldau.record import interpreted as cython

if False:  # Never executed: tells the compiler what ``cython`` is.
    import cython  # type: ignore

_M: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Murmur2 with Kafka's seed, as an unsigned 32-bit integer."""
    return _murmur2(data, 0, len(data))


def hash_keys(keys: bytes, position: memoryview, size: memoryview, hashes: memoryview) -> None:
    """Fill ``hashes`` with the hash of each key, and with -1 for null keys.

    All three are columns of 64-bit integers; the positions are not checked.

    Raises:
        ValueError: they do not have the same length.
    """
    count = len(position)
    if len(size) != count or len(hashes) != count:
        raise ValueError(f"{count} positions, {len(size)} sizes and room for {len(hashes)} hashes")
    _hash_keys(keys, position, size, count, hashes)


def _hash_keys(
    keys: bytes, position: memoryview, size: memoryview, count: int, hashes: memoryview
) -> None:
    data = keys
    with cython.nogil:
        for i in range(count):
            if size[i] < 0:
                hashes[i] = -1
            else:
                hashes[i] = _murmur2(data, position[i], size[i])


def _murmur2(data: bytes, position: int, size: int) -> int:
    value = _SEED ^ size
    at = position
    end = position + size - (size & 3)
    while at < end:
        word = data[at + 3]
        word = word << 8 | data[at + 2]
        word = word << 8 | data[at + 1]
        word = (word << 8 | data[at]) * _M & _MASK
        word = (word ^ (word >> 24)) * _M & _MASK
        value = (value * _M & _MASK) ^ word
        at += 4
    # Up to three bytes are left over.
    if at < position + size:
        word = 0
        end = position + size
        while end > at:
            end -= 1
            word = word << 8 | data[end]
        value = (value ^ word) * _M & _MASK
    value = (value ^ (value >> 13)) * _M & _MASK
    return value ^ (value >> 15)
