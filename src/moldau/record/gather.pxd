# The types in C of the names in gather.py.
cimport cython
from libc.string cimport memcpy
from moldau.record.c_types cimport i64, u8, u64

@cython.locals(source="const u8*", target="u8*", bits="u8*", nulls=i64, i=i64, length=i64)
cdef i64 _copy_fields(bytes records, const i64[::1] position, const i64[::1] size, i64 count,
                      bytearray data, i64 capacity, i64 at, int[::1] ends,
                      bytearray validity, i64 row) except? -2

cdef i64 _copy(u8* target, i64 to, const u8* source, i64 start, i64 length) noexcept nogil

@cython.locals(source="const u8*", row=i64, i=i64, _=i64, at=i64, length=i64)
cdef i64 _index_headers(bytes records, const i64[::1] position, const i64[::1] counts,
                        i64 count, i64 total, i64[::1] cells) except? -1

@cython.locals(raw=u64, byte=u64, shift="int")
cdef (i64, i64) _read_size(const u8* data, i64 at) noexcept nogil
