# C types for walk.py. ``checked`` checks all bounds: the compiler adds no checks.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.checked cimport fault, read_checked, skip_checked, skip_headers
from moldau.record.primitives cimport bytes_at

cdef i64 _LIMIT

cdef class RecordFacts:
    cdef readonly i64 base_timestamp
    cdef readonly i64 expected
    cdef readonly i64 passed
    cdef readonly i64 min_timestamp
    cdef readonly i64 max_timestamp
    cdef readonly bint has_null_key
    cdef readonly bint offsets_are_consecutive

@cython.locals(source="const u8*", at=i64)
cpdef i64 walk_records(data, i64 position, i64 end, RecordFacts facts) except? -1

@cython.locals(source="const u8*", end=i64, at=i64)
cpdef i64 walk_apart(data, RecordFacts facts) except? -1

@cython.locals(source="const u8*", end=i64, position=i64, length=i64, start=i64)
cpdef i64 end_of_whole(data) except? -1

@cython.locals(source="const u8*", end=i64, length=i64, start=i64)
cpdef i64 size_of_first(data) except? -1

@cython.locals(length=i64, start=i64, at=i64)
cdef i64 _pass_records(const u8* source, i64 position, i64 end, RecordFacts facts) noexcept nogil

@cython.locals(delta=i64, at=i64, timestamp=i64, length=i64)
cdef i64 _pass_record(const u8* source, i64 start, i64 end, RecordFacts facts) noexcept nogil
