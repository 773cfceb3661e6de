# C types for gather.py.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.primitives cimport copy, read_varint

@cython.locals(source="const u8*", target="u8*", bits="u8*", nulls=i64, i=i64, length=i64)
cdef i64 _copy_fields(bytes records, const i64[::1] position, const i64[::1] size, i64 count,
                      bytearray data, i64 capacity, i64 at, int[::1] ends,
                      bytearray validity, i64 row) except? -2

@cython.locals(source="const u8*", row=i64, i=i64, _=i64, at=i64, length=i64)
cdef i64 _index_headers(bytes records, const i64[::1] position, const i64[::1] counts,
                        i64 count, i64 total, i64[::1] cells) except? -1
