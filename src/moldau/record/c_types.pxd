# Short names for the integer types of the record kernel.
ctypedef unsigned char u8
ctypedef long long i64
ctypedef unsigned long long u64
