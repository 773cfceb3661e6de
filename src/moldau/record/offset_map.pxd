# C types for offset_map.py.
cimport cython
from moldau.record.c_types cimport i64, u8, u64
from moldau.record.siphash cimport siphash_2_4_128

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define prefetch(address) __builtin_prefetch(address, 1)
    #else
    #define prefetch(address) ((void)(address))
    #endif
    """
    void prefetch(const void* address) noexcept nogil

cdef class OffsetMap:
    cdef readonly i64 max_entries
    cdef readonly i64 size
    cdef readonly i64 latest_offset
    cdef i64 _max_slots
    cdef u64 _slots
    cdef object _memory
    cdef u64[::1] _table
    cdef bytes _seed

    @cython.locals(low=u64, high=u64, at=i64, size=i64)
    cpdef i64 get(self, bytes key) except -2

    @cython.locals(source=u64[::1], target=u64[::1], i=i64, at=i64)
    cdef _move(self, i64 first, i64 end, u64[::1] table, u64 slots)

    @cython.locals(data="const u8*", seed="const u8*", table=u64[::1], slots=u64, i=i64,
                   low=u64, high=u64)
    cdef _hash_keys(self, bytes records, const i64[::1] key_position, const i64[::1] key_size,
                    i64 count, u64[::1] hashes)

    @cython.locals(table=u64[::1], slots=u64, size=i64, room=i64, latest=i64,
                   passed=i64, i=i64, at=i64, offset=i64, known=i64)
    cdef i64 _put(self, const u64[::1] hashes, const i64[::1] key_size,
                  const i64[::1] offset_delta, i64 count, i64 base_offset,
                  i64 from_offset) except -1

    @cython.locals(table=u64[::1], slots=u64, i=i64, at=i64)
    cdef _look_up(self, const u64[::1] hashes, const i64[::1] key_size, i64 count,
                  i64[::1] found)

cdef u64 _first_slot(u64 slots, u64 low) noexcept nogil

@cython.locals(slot=u64, at=i64)
cdef i64 _find(u64[::1] table, u64 slots, u64 low, u64 high) noexcept nogil

cdef void _prefetch(u64[::1] table, i64 at) noexcept nogil

# Also visible from Python, so that a test can compare it with published values.
cpdef (u64, u64) _hash(const u8* data, i64 position, i64 size, const u8* seed) noexcept nogil
