"""Record batches: headers, records, codecs, and the validation of produced batches.

A batch is opaque to the log: the 61 bytes of its header contain everything the log needs, and a
checksum covers the rest. Only this package decodes records.
"""
