# The functions of checked.py in C, inlined. For compiled code only.
from moldau.record.c_types cimport i64, u8, u64

cdef inline i64 fault(i64 position, i64 why) noexcept nogil:
    return -1 - (position * 8 + why)

cdef inline (i64, i64) read_checked(const u8* data, i64 at, i64 end) noexcept nogil:
    cdef i64 start = at
    cdef u64 raw = 0, byte
    cdef int shift = 0
    if at < 0:
        return 0, at
    while at < end:
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            if shift == 63 and byte > 1:
                return 0, fault(start, 1)
            return <i64>((raw >> 1) ^ (0 - (raw & 1))), at
        if shift == 63:
            return 0, fault(start, 1)
        shift += 7
    return 0, fault(start, 0)

cdef inline i64 skip_checked(i64 at, i64 length, i64 end) noexcept nogil:
    if at < 0 or length <= 0:
        return at
    if length > end - at:
        return fault(at, 2)
    return at + length

cdef inline i64 skip_headers(const u8* data, i64 at, i64 count, i64 end) noexcept nogil:
    cdef i64 start, length, i
    if at < 0:
        return at
    if count < 0 or count > end - at:
        return fault(at, 2)
    for i in range(count):
        start = at
        length, at = read_checked(data, at, end)
        if at >= 0 and length < 0:
            return fault(start, 2)
        at = skip_checked(at, length, end)
        length, at = read_checked(data, at, end)
        at = skip_checked(at, length, end)
        if at < 0:
            return at
    return at
