"""Record batches: their header, their records, their codecs, and what a producer may send.

A batch is opaque to the log: 61 bytes of header say everything it needs, and a checksum covers
the rest. Only this package looks inside.
"""
