# C types for key_hash.py.
cimport cython
from moldau.record.c_types cimport i64, u8, u64

cdef u64 _M
cdef u64 _SEED
cdef u64 _MASK

@cython.locals(data="const u8*", i=i64)
cdef _hash_keys(bytes keys, const i64[::1] position, const i64[::1] size, i64 count,
                i64[::1] hashes)

@cython.locals(value=u64, word=u64, at=i64, end=i64)
cdef i64 _murmur2(const u8* data, i64 position, i64 size) noexcept nogil
