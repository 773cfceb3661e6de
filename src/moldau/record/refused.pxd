# C types for refused.py.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.checked cimport fault, read_checked
from moldau.record.primitives cimport bytes_at

cdef i64 _LIMIT
cdef i64 _NO_KEY

cdef class RefusedRecords:
    cdef readonly i64 base_timestamp
    cdef readonly bint needs_key
    cdef readonly i64 oldest
    cdef readonly i64 latest
    cdef readonly i64 most
    cdef readonly i64 passed
    cdef readonly i64 refused
    cdef readonly i64 of_wrong_time
    cdef i64[::1] _cells

    @cython.locals(i=i64, count=i64, cells=i64[::1])
    cpdef list found(self)

    @cython.locals(source="const u8*", size=i64, cells=i64[::1], at=i64, start=i64, end=i64,
                   length=i64, delta=i64, _=i64, timestamp=i64, is_refused=bint)
    cpdef look(self, records)
