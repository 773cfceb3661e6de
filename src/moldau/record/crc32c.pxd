# CRC-32C for the record kernel: the checksum of batches, without the GIL. For compiled code only:
# plain Python uses that of ``checksum``.
from moldau.record.c_types cimport i64, u8

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #if defined(__x86_64__) && defined(__GNUC__)
    #define MOLDAU_HAS_CRC32C __builtin_cpu_supports("sse4.2")
    #define MOLDAU_CRC32C_TARGET __attribute__((target("sse4.2")))
    #define MOLDAU_CRC32C_WORD(crc, word) ((uint32_t)__builtin_ia32_crc32di(crc, word))
    #define MOLDAU_CRC32C_BYTE(crc, byte) __builtin_ia32_crc32qi(crc, byte)
    #elif defined(__ARM_FEATURE_CRC32)
    #include <arm_acle.h>
    #define MOLDAU_HAS_CRC32C 1
    #define MOLDAU_CRC32C_TARGET
    #define MOLDAU_CRC32C_WORD(crc, word) __crc32cd(crc, word)
    #define MOLDAU_CRC32C_BYTE(crc, byte) __crc32cb(crc, byte)
    #endif

    /* Four bits at a time, for processors without an instruction for it. */
    static uint32_t moldau_crc32c_by_table(const unsigned char *at, size_t size) {
        static const uint32_t table[16] = {
            0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
            0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
            0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
        uint32_t crc = 0xffffffff;
        for (; size > 0; size--, at++) {
            crc = table[(crc ^ *at) & 15] ^ (crc >> 4);
            crc = table[(crc ^ (*at >> 4)) & 15] ^ (crc >> 4);
        }
        return ~crc;
    }

    #ifdef MOLDAU_HAS_CRC32C
    MOLDAU_CRC32C_TARGET
    static uint32_t moldau_crc32c_by_instruction(const unsigned char *at, size_t size) {
        uint32_t crc = 0xffffffff;
        for (; size >= 8; size -= 8, at += 8) {
            uint64_t word;
            memcpy(&word, at, 8);
            crc = MOLDAU_CRC32C_WORD(crc, word);
        }
        for (; size > 0; size--, at++)
            crc = MOLDAU_CRC32C_BYTE(crc, *at);
        return ~crc;
    }
    #endif

    static uint32_t moldau_crc32c(const unsigned char *at, size_t size) {
    #ifdef MOLDAU_HAS_CRC32C
        if (MOLDAU_HAS_CRC32C)
            return moldau_crc32c_by_instruction(at, size);
    #endif
        return moldau_crc32c_by_table(at, size);
    }
    """
    unsigned int moldau_crc32c(const u8* at, size_t size) noexcept nogil

cdef inline i64 crc32c_of(const u8* data, i64 start, i64 end) noexcept nogil:
    return moldau_crc32c(data + start, <size_t>(end - start))
