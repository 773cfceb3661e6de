"""Record batches: their header, their records, their codecs, and what a producer may send.

A batch is opaque to the broker: 61 bytes of header say everything the log needs, and a
checksum covers the rest. Only this package looks inside.
"""
