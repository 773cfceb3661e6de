# The types in C of the names in rebase.py.
cimport cython
from libc.string cimport memcpy
from moldau.record.c_types cimport i64, u8, u64

cdef i64 _LIMIT

@cython.locals(source="const u8*", target="u8*", to=i64, i=i64, delta=i64, start=i64,
               rest=i64, end=i64, length=i64)
cdef i64 _rebase(bytes records, const i64[::1] timestamp_delta, const i64[::1] position,
                 i64 count, i64 shift, bytearray rebased) except? -1

cdef i64 _after_varint(const u8* data, i64 at) noexcept nogil

@cython.locals(raw=u64, size=i64)
cdef i64 _varint_size(i64 value) noexcept nogil

@cython.locals(raw=u64)
cdef i64 _write_varint(u8* data, i64 at, i64 value) noexcept nogil

cdef i64 _copy(u8* target, i64 to, const u8* source, i64 start, i64 end) noexcept nogil
