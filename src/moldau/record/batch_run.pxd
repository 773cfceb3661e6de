# C types for batch_run.py. The loops check their own bounds: the compiler adds no checks.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.crc32c cimport crc32c_of

cdef i64 _NEVER
cdef i64 _HEADER_SIZE
cdef i64 _LENGTH_OVERHEAD
cdef i64 _MAGIC
cdef i64 _CHECKED_FROM
cdef i64 _UNSIGNED
cdef i64 _NOT_PLAIN
cdef i64 _DELETE_HORIZON
cdef i64 _SMALLEST_RECORD
cdef i64 _LARGEST_BASE_OFFSET

@cython.locals(data="const u8*", size=i64, most=i64, rows=i64, count=i64, cells=i64[::1])
cpdef find_run(bytes chunk, i64 at, i64 next_offset)

@cython.locals(count=i64, length=i64)
cdef i64 _count_plain(const u8* data, i64 at, i64 size) noexcept nogil

@cython.locals(length=i64, count=i64)
cdef i64 _plain_size(const u8* data, i64 at, i64 size) noexcept nogil

@cython.locals(records=i64, count=i64, end=i64, base_offset=i64, last_offset=i64, attributes=i64,
               base_timestamp=i64)
cdef i64 _fill(const u8* data, i64 at, i64 size, i64 next_offset, i64[::1] cells,
               i64 rows) noexcept nogil

cdef bint _goes_on(const u8* data, i64 at, i64 size, i64 last_offset) noexcept nogil

@cython.locals(number=i64, i=i64)
cdef i64 _number(const u8* data, i64 at, i64 size) noexcept nogil
