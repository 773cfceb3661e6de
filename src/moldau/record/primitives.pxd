# The functions of primitives.py in C, inlined. For compiled code only.
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check
from cpython.memoryview cimport PyMemoryView_Check, PyMemoryView_GET_BUFFER
from libc.string cimport memcpy
from moldau.record.c_types cimport i64, u8, u64

cdef inline u64 _zig_zag(i64 value) noexcept nogil:
    return (<u64>value << 1) ^ <u64>(value >> 63)

cdef inline i64 varint_size(i64 value) noexcept nogil:
    cdef u64 raw = _zig_zag(value)
    cdef i64 size = 1
    while raw >= 0x80:
        raw >>= 7
        size += 1
    return size

cdef inline i64 write_varint(u8* target, i64 to, i64 value) noexcept nogil:
    cdef u64 raw = _zig_zag(value)
    while raw >= 0x80:
        target[to] = <u8>(raw & 0x7F | 0x80)
        raw >>= 7
        to += 1
    target[to] = <u8>raw
    return to + 1

cdef inline (i64, i64) read_varint(const u8* data, i64 at) noexcept nogil:
    cdef u64 raw = 0, byte = 0x80
    cdef int shift = 0
    while byte >= 0x80:
        byte = data[at]
        at += 1
        raw |= (byte & 0x7F) << shift
        shift += 7
    return <i64>((raw >> 1) ^ (0 - (raw & 1))), at

cdef inline i64 after_varint(const u8* data, i64 at) noexcept nogil:
    while data[at] >= 0x80:
        at += 1
    return at + 1

cdef inline i64 copy(u8* target, i64 to, const u8* source, i64 start, i64 end) noexcept nogil:
    memcpy(target + to, source + start, <size_t>(end - start))
    return to + end - start

cdef inline const u8* bytes_at(data) except? NULL:
    if PyBytes_Check(data):
        return <const u8*>PyBytes_AS_STRING(data)
    if not PyMemoryView_Check(data):
        raise TypeError(f"neither bytes nor a view of them: {data!r}")
    return <const u8*>PyMemoryView_GET_BUFFER(data).buf

cdef inline u8* room_at(room) except? NULL:
    if not PyMemoryView_Check(room):
        raise TypeError(f"not a view: {room!r}")
    return <u8*>PyMemoryView_GET_BUFFER(room).buf
