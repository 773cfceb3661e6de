# C types for scatter.py. A record is written only after a check that it fits: the compiler adds no
# checks.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.primitives cimport copy, varint_size, write_varint

@cython.locals(key_data="const u8*", value_data="const u8*", name_data="const u8*",
               content_data="const u8*", target="u8*", to=i64, at=i64, row=i64, delta=i64,
               length=i64, count=i64, i=i64)
cdef (i64, i64) _write_records(
    const i64[::1] timestamp, bytes keys, const i64[::1] key_position,
    const i64[::1] key_size, bytes values, const i64[::1] value_position,
    const i64[::1] value_size, bint has_headers, const i64[::1] header_first,
    const i64[::1] header_count, bytes names, const i64[::1] name_position,
    const i64[::1] name_size, bytes contents, const i64[::1] content_position,
    const i64[::1] content_size, const i64[::1] order, i64 first, i64 last,
    bytearray room, i64 capacity)

cdef i64 _field_size(i64 size) noexcept nogil

cdef i64 _write_field(u8* target, i64 to, const u8* source, i64 start, i64 size) noexcept nogil
