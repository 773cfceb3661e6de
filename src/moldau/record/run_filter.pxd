# C types for run_filter.py.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.crc32c cimport crc32c_of
from moldau.record.primitives cimport copy

cdef i64 _NEVER
cdef i64 _HEADER_SIZE
cdef i64 _LENGTH_OVERHEAD
cdef i64 _CHECKED_FROM
cdef i64 _LOG_APPEND_TIME
cdef i64 _LIMIT

@cython.locals(last_offset="const i64[::1]", base_timestamp="const i64[::1]",
               delete_horizon="const i64[::1]", kept="const i64[::1]",
               tombstones="const i64[::1]", max_timestamp_delta="const i64[::1]", at=i64, i=i64,
               is_far="bint", delta=i64)
cdef _judge(run, selected, i64 count, const i64[::1] needed, i64 needed_count,
            i64[::1] must_look)

@cython.locals(kept="const i64[::1]", size="const i64[::1]", stop=i64, batches=i64, records=i64,
               written=i64)
cdef tuple _measure(run, selected, const i64[::1] must_look, i64 first, i64 end)

@cython.locals(chunk=bytes, source="const u8*", target="u8*", position="const i64[::1]",
               first_row="const i64[::1]", last_offset="const i64[::1]",
               attributes="const i64[::1]", base_timestamp="const i64[::1]",
               max_timestamp="const i64[::1]", kept="const i64[::1]",
               max_timestamp_delta="const i64[::1]", run_end="const i64[::1]",
               runs="const i64[::1]", next_run=i64, at=i64, row=i64, largest=i64,
               of_largest=i64, i=i64, j=i64, begin=i64, timestamp=i64)
cdef _write(run, selected, i64 first, i64 stop, bytearray data, i64[::1] cells, i64 rows)

cdef void _seal(u8* data, i64 begin, i64 end, i64 max_timestamp, i64 count) noexcept nogil

@cython.locals(i=i64)
cdef void _put_number(u8* data, i64 at, i64 size, i64 number) noexcept nogil
