# SipHash-2-4 with a 128-bit result (Aumasson and Bernstein, "SipHash: a fast short-input PRF"), for
# the offset map. For compiled code only: plain Python uses faster ones from hashlib.
from libc.string cimport memcpy
from moldau.record.c_types cimport i64, u64, u8

cdef struct SipState:
    u64 v0
    u64 v1
    u64 v2
    u64 v3

cdef inline u64 _rotate(u64 word, int bits) noexcept nogil:
    return word << bits | word >> (64 - bits)

cdef inline void _rounds(SipState* state, int count) noexcept nogil:
    cdef u64 v0 = state.v0, v1 = state.v1, v2 = state.v2, v3 = state.v3
    cdef int i
    for i in range(count):
        v0 += v1
        v2 += v3
        v1 = _rotate(v1, 13) ^ v0
        v3 = _rotate(v3, 16) ^ v2
        v0 = _rotate(v0, 32)
        v2 += v1
        v0 += v3
        v1 = _rotate(v1, 17) ^ v2
        v3 = _rotate(v3, 21) ^ v0
        v2 = _rotate(v2, 32)
    state.v0, state.v1, state.v2, state.v3 = v0, v1, v2, v3

cdef inline u64 _word(const u8* data, size_t size) noexcept nogil:
    # In the machine's own byte order: a hash never leaves the process.
    cdef u64 word = 0
    memcpy(&word, data, size)
    return word

cdef inline (u64, u64) siphash_2_4_128(
    const u8* data, i64 position, i64 size, const u8* seed
) noexcept nogil:
    cdef u64 k0 = _word(seed, 8), k1 = _word(seed + 8, 8), word, low
    cdef const u8* at = data + position
    cdef i64 left = size
    cdef SipState state
    state.v0 = <u64>0x736F6D6570736575 ^ k0
    state.v1 = <u64>0x646F72616E646F6D ^ k1 ^ 0xEE
    state.v2 = <u64>0x6C7967656E657261 ^ k0
    state.v3 = <u64>0x7465646279746573 ^ k1
    while left >= 8:
        word = _word(at, 8)
        state.v3 ^= word
        _rounds(&state, 2)
        state.v0 ^= word
        at += 8
        left -= 8
    word = _word(at, <size_t>left) | (<u64>size << 56)
    state.v3 ^= word
    _rounds(&state, 2)
    state.v0 ^= word
    state.v2 ^= 0xEE
    _rounds(&state, 4)
    low = state.v0 ^ state.v1 ^ state.v2 ^ state.v3
    state.v1 ^= 0xDD
    _rounds(&state, 4)
    return low, state.v0 ^ state.v1 ^ state.v2 ^ state.v3
