# C types for replicated_run.py. The loops check their own bounds: the compiler adds no checks.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.crc32c cimport crc32c_of

cdef i64 _HEADER_SIZE
cdef i64 _LENGTH_OVERHEAD
cdef i64 _MAGIC
cdef i64 _CHECKED_FROM
cdef i64 _CONTROL
cdef i64 _UNSIGNED
cdef i64 _LARGEST_BASE_OFFSET

@cython.locals(data="const u8*", size=i64, rows=i64, count=i64, cells=i64[::1], epoch=i64,
               producers=i64, last=i64, end=i64, base_offset=i64, first_timestamp=i64)
cpdef find_replicated(bytes chunk, i64 next_offset, i64 latest_epoch)

@cython.locals(count=i64, at=i64, length=i64)
cdef i64 _count(const u8* data, i64 size) noexcept nogil

@cython.locals(count=i64, at=i64, end=i64, base_offset=i64, last_offset=i64, timestamp=i64,
               max_timestamp=i64, offset_of_max=i64)
cdef i64 _fill(const u8* data, i64 size, i64 next_offset, i64 epoch, i64[::1] cells,
               i64 rows) noexcept nogil

@cython.locals(found=i64, i=i64)
cdef i64 _mark_producers(const u8* data, i64[::1] cells, i64 count, i64 rows) noexcept nogil

@cython.locals(number=i64, i=i64)
cdef i64 _number(const u8* data, i64 at, i64 size) noexcept nogil
