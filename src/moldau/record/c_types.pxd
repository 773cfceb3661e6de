# Short names for what the record kernel counts with.
ctypedef unsigned char u8
ctypedef long long i64
ctypedef unsigned long long u64
