# C types for columns.py. The loops check their own bounds: the compiler adds no checks.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.checked cimport fault, read_checked, skip_checked, skip_headers

@cython.locals(data="const u8*", cells=i64[::1], size=i64, passed=i64, at=i64)
cpdef index_records(bytes records, i64 count)

cdef i64 _BATCH_HEADER_SIZE

@cython.locals(data="const u8*", cells=i64[::1], rows=i64, passed=i64, i=i64, start=i64, end=i64,
               row=i64, size=i64, _=i64, at=i64)
cpdef tuple index_batches(bytes chunk, const i64[::1] position, const i64[::1] base_offset,
                          const i64[::1] first_row, i64 count)

@cython.locals(deltas=i64, timestamps=i64, keys=i64, key_sizes=i64, values=i64,
               value_sizes=i64, headers=i64, header_counts=i64, positions=i64, start=i64,
               end=i64, length=i64, delta=i64, i=i64)
cdef (i64, i64) _index(const u8* data, i64 at, i64 size, i64 first, i64 count, i64 base_delta,
                       i64[::1] cells, i64 rows) noexcept nogil
