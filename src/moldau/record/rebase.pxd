# C types for rebase.py.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.primitives cimport after_varint, copy, varint_size, write_varint

cdef i64 _LIMIT

@cython.locals(source="const u8*", target="u8*", to=i64, i=i64, delta=i64, start=i64,
               rest=i64, end=i64, length=i64)
cdef i64 _rebase(bytes records, const i64[::1] timestamp_delta, const i64[::1] position,
                 i64 count, i64 shift, bytearray rebased) except? -1
