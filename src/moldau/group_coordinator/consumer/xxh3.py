"""XXH3, the 64-bit hash with seed 0 and the default secret, in plain Python.

Kafka 4.3 stores a hash of the topics that a group is subscribed to with the group epoch, so
that after a restart the coordinator knows whether they changed. To share a data directory with
Kafka, the hash must be the same. Inputs are a few hundred bytes, and results are cached per
topic, so plain Python is fast enough.

The algorithm is public (the xxHash specification by Yann Collet, XXH3 section).
"""

import struct
from typing import Final

_MASK: Final = 0xFFFFFFFFFFFFFFFF
_PRIME32_1: Final = 0x9E3779B1
_PRIME32_2: Final = 0x85EBCA77
_PRIME32_3: Final = 0xC2B2AE3D
_PRIME64_1: Final = 0x9E3779B185EBCA87
_PRIME64_2: Final = 0xC2B2AE3D27D4EB4F
_PRIME64_3: Final = 0x165667B19E3779F9
_PRIME64_4: Final = 0x85EBCA77C2B2AE63
_PRIME64_5: Final = 0x27D4EB2F165667C5
_PRIME_MX1: Final = 0x165667919E3779F9
_PRIME_MX2: Final = 0x9FB21C651E98DF25

_SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPE: Final = 64
_STRIPES_PER_BLOCK: Final = (192 - _STRIPE) // 8
_LANES: Final = struct.Struct("<8Q")
_LONG: Final = struct.Struct("<Q")


def xxh3_64(data: bytes) -> int:
    """The hash as an unsigned number."""
    size = len(data)
    if size > 240:
        return _hash_long(data)
    if size > 128:
        return _hash_129_to_240(data)
    if size > 16:
        return _hash_17_to_128(data)
    return _hash_short(data)


def _read64(data: bytes, position: int) -> int:
    value: int = _LONG.unpack_from(data, position)[0]
    return value


def _read32(data: bytes, position: int) -> int:
    return int.from_bytes(data[position : position + 4], "little")


def _fold(left: int, right: int) -> int:
    """The exclusive or of both halves of the 128-bit product."""
    product = left * right
    return (product & _MASK) ^ (product >> 64)


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = (value * _PRIME_MX1) & _MASK
    return value ^ (value >> 32)


def _avalanche_xxh64(value: int) -> int:
    value ^= value >> 33
    value = (value * _PRIME64_2) & _MASK
    value ^= value >> 29
    value = (value * _PRIME64_3) & _MASK
    return value ^ (value >> 32)


def _rotate(value: int, by: int) -> int:
    return ((value << by) & _MASK) | (value >> (64 - by))


def _hash_short(data: bytes) -> int:
    size = len(data)
    if size > 8:
        flip_low = _read64(_SECRET, 24) ^ _read64(_SECRET, 32)
        flip_high = _read64(_SECRET, 40) ^ _read64(_SECRET, 48)
        low = _read64(data, 0) ^ flip_low
        high = _read64(data, size - 8) ^ flip_high
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche((size + swapped + high + _fold(low, high)) & _MASK)
    if size >= 4:
        combined = _read32(data, size - 4) | (_read32(data, 0) << 32)
        value = combined ^ _read64(_SECRET, 8) ^ _read64(_SECRET, 16)
        value ^= _rotate(value, 49) ^ _rotate(value, 24)
        value = (value * _PRIME_MX2) & _MASK
        value ^= (value >> 35) + size
        value = (value * _PRIME_MX2) & _MASK
        return value ^ (value >> 28)
    if size > 0:
        combined = (data[0] << 16) | (data[size >> 1] << 24) | data[size - 1] | (size << 8)
        return _avalanche_xxh64(combined ^ _read32(_SECRET, 0) ^ _read32(_SECRET, 4))
    return _avalanche_xxh64(_read64(_SECRET, 56) ^ _read64(_SECRET, 64))


def _mix16(data: bytes, position: int, secret_position: int) -> int:
    return _fold(
        _read64(data, position) ^ _read64(_SECRET, secret_position),
        _read64(data, position + 8) ^ _read64(_SECRET, secret_position + 8),
    )


def _hash_17_to_128(data: bytes) -> int:
    size = len(data)
    value = size * _PRIME64_1
    for i in range((size - 1) // 32, -1, -1):
        value += _mix16(data, 16 * i, 32 * i)
        value += _mix16(data, size - 16 * (i + 1), 32 * i + 16)
    return _avalanche(value & _MASK)


def _hash_129_to_240(data: bytes) -> int:
    size = len(data)
    value = size * _PRIME64_1
    for i in range(8):
        value += _mix16(data, 16 * i, 16 * i)
    value = _avalanche(value & _MASK)
    for i in range(8, size // 16):
        value += _mix16(data, 16 * i, 16 * (i - 8) + 3)
    value += _mix16(data, size - 16, 136 - 17)
    return _avalanche(value & _MASK)


_SECRET_WINDOWS: Final = [_LANES.unpack_from(_SECRET, 8 * i) for i in range(_STRIPES_PER_BLOCK + 1)]


def _accumulate(sums: list[int], data: bytes, position: int, secret: tuple[int, ...]) -> None:
    for lane, value in enumerate(_LANES.unpack_from(data, position)):
        keyed = value ^ secret[lane]
        sums[lane ^ 1] = (sums[lane ^ 1] + value) & _MASK
        sums[lane] = (sums[lane] + (keyed & 0xFFFFFFFF) * (keyed >> 32)) & _MASK


def _hash_long(data: bytes) -> int:
    size = len(data)
    sums = [
        _PRIME32_3,
        _PRIME64_1,
        _PRIME64_2,
        _PRIME64_3,
        _PRIME64_4,
        _PRIME32_2,
        _PRIME64_5,
        _PRIME32_1,
    ]
    last_secret = _SECRET_WINDOWS[_STRIPES_PER_BLOCK]
    for stripe in range((size - 1) // _STRIPE):
        within = stripe % _STRIPES_PER_BLOCK
        _accumulate(sums, data, stripe * _STRIPE, _SECRET_WINDOWS[within])
        if within == _STRIPES_PER_BLOCK - 1:
            for lane, secret in enumerate(last_secret):
                value = sums[lane]
                sums[lane] = ((value ^ (value >> 47) ^ secret) * _PRIME32_1) & _MASK
    _accumulate(sums, data, size - _STRIPE, _LANES.unpack_from(_SECRET, 192 - _STRIPE - 7))
    value = size * _PRIME64_1
    for i in range(4):
        value += _fold(
            sums[2 * i] ^ _read64(_SECRET, 11 + 16 * i),
            sums[2 * i + 1] ^ _read64(_SECRET, 19 + 16 * i),
        )
    return _avalanche(value & _MASK)
