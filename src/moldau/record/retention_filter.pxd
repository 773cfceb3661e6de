# C types for retention_filter.py.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.primitives cimport copy

@cython.locals(offset_delta="const i64[::1]", timestamp_delta="const i64[::1]",
               key_size="const i64[::1]", value_size="const i64[::1]", position="const i64[::1]",
               run_count=i64, batch=i64, kept=i64, tombstones=i64, unkeyed=i64, size=i64,
               max_timestamp=i64, first=i64, last=i64, of_max_timestamp=i64,
               keep_tombstones="bint", next_row=i64, i=i64, offset=i64, record_end=i64)
cdef _select(columns, const i64[::1] found, i64 base_offset, i64 latest_offset,
             const i64[::1] first_row, const i64[::1] end, const i64[::1] delete_horizon,
             i64 wall_ms, i64 count, i64[::1] cells, i64[::1] runs)

@cython.locals(source="const u8*", target="u8*", at=i64, i=i64)
cdef bytes _gather(bytes records, const i64[::1] runs, i64 run_count, i64 size)
