# C types for renumber.py.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.checked cimport fault, read_checked
from moldau.record.primitives cimport bytes_at, copy, room_at, varint_size, write_varint

cdef i64 _LIMIT

@cython.locals(source="const u8*", size=i64, at=i64, _=i64, delta=i64)
cpdef i64 first_timestamp_delta(records) except? -1

@cython.locals(source="const u8*", target="u8*", size=i64, capacity=i64, is_large=bint, at=i64,
               to=i64, count=i64, start=i64, end=i64, length=i64, attributes=i64,
               timestamp_delta=i64, _=i64, offset_delta=i64)
cpdef tuple renumber(records, i64 first_delta, i64 shift)
