# C types for row_json.py. It checks all bounds itself: the compiler adds no checks.
cimport cython
from moldau.record.c_types cimport i64, u8
from moldau.record.primitives cimport copy

cdef i64 _OTHER
cdef i64 _UNCHANGED
cdef i64 _STRING
cdef i64 _BOOLEAN
cdef i64 _DECIMAL
cdef i64 _MOMENT
cdef i64 _FIELD_BYTES
cdef i64 _ROOM
cdef i64 _MAX_DIGITS
cdef i64 _TEXT
cdef i64 _NULL
cdef i64 _MARK_BYTES

cdef class RowPlan:
    cdef readonly i64 start_size
    cdef readonly bytes plan
    cdef readonly bytes texts
    cdef readonly list writers
    cdef bytearray scratch

@cython.locals(plan_bytes=bytes, text_bytes=bytes, scratch=bytearray, source="const u8*",
               plan="const u8*", texts="const u8*", target="u8*", other="const u8*", written=bytes,
               size=i64, count=i64, room=i64, capacity=i64, at=i64, column=i64, to=i64,
               text=i64, field=i64, entry=i64, place=i64, begin=i64, before_end=i64,
               null_end=i64, after=i64)
cpdef write_row(bytes data, i64 start, RowPlan rows, bytes tail)

@cython.locals(end=i64)
cdef i64 _after_value(const u8* source, i64 at, i64 size) noexcept nogil

@cython.locals(made=bytearray)
cdef bytearray _larger(bytearray scratch, i64 used, i64 capacity)

@cython.locals(high=i64)
cdef i64 _number(const u8* data, i64 at) noexcept nogil

cdef i64 _write(i64 kind, i64 digits, const u8* source, i64 at, i64 end, u8* target, i64 to) noexcept nogil

@cython.locals(byte=i64)
cdef i64 _write_string(const u8* source, i64 at, i64 end, u8* target, i64 to) noexcept nogil

cdef i64 _write_boolean(const u8* source, i64 at, i64 end, u8* target, i64 to) noexcept nogil

@cython.locals(is_negative=bint, point=i64, value=i64, limit=i64, size=i64, byte=i64)
cdef i64 _write_decimal(i64 digits, const u8* source, i64 at, i64 end, u8* target, i64 to) noexcept nogil

@cython.locals(left=i64, group=i64)
cdef i64 _write_base64(i64 value, i64 size, u8* target, i64 to) noexcept nogil

cdef i64 _base64(i64 six) noexcept nogil

@cython.locals(zone=i64)
cdef i64 _write_moment(i64 digits, const u8* source, i64 at, i64 end, u8* target, i64 to) noexcept nogil
