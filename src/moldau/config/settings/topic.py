"""Settings of a topic."""

from typing import Final

TOPIC: Final = """
cleanup.policy LIST delete compact|delete MEDIUM cluster-wide honoured
  What happens to old segments: delete, compact, or both; empty keeps everything.
compression.gzip.level INT -1 -1,1..9 MEDIUM cluster-wide honoured
  Level for gzip, if compression.type is gzip; -1 is the codec's own default.
compression.lz4.level INT 9 1..17 MEDIUM cluster-wide honoured
  Level for lz4, if compression.type is lz4.
compression.type STRING producer uncompressed|zstd|lz4|snappy|gzip|producer MEDIUM cluster-wide honoured
  Codec of stored batches; producer keeps the codec of the producer.
compression.zstd.level INT 3 -131072..22 MEDIUM cluster-wide honoured
  Level for zstd, if compression.type is zstd.
delete.retention.ms LONG 86400000 0.. MEDIUM cluster-wide honoured
  How long a compacted topic keeps tombstones.
file.delete.delay.ms LONG 60000 0.. MEDIUM cluster-wide honoured
  Time between removing a segment from the log and deleting its files.
flush.messages LONG 9223372036854775807 1.. MEDIUM cluster-wide honoured
  Messages after which the log is flushed to disk.
flush.ms LONG 9223372036854775807 0.. MEDIUM cluster-wide honoured
  Longest time a message stays in memory before it is flushed to disk.
follower.replication.throttled.replicas LIST '' throttled-replicas MEDIUM cluster-wide honoured
  Replicas throttled while they follow, as partition:broker, or * for all.
index.interval.bytes INT 4096 0.. MEDIUM cluster-wide honoured
  Bytes of log between two entries of the offset index.
leader.replication.throttled.replicas LIST '' throttled-replicas MEDIUM cluster-wide honoured
  Replicas throttled while they lead, as partition:broker, or * for all.
local.retention.bytes LONG -2 -2.. MEDIUM cluster-wide accepted
  Bytes of a tiered partition kept on the broker; -2 means as retention.bytes.
local.retention.ms LONG -2 -2.. MEDIUM cluster-wide accepted
  Time a tiered partition's segments stay on the broker; -2 means as retention.ms.
max.compaction.lag.ms LONG 9223372036854775807 1.. MEDIUM cluster-wide honoured
  Longest time before a record becomes eligible for compaction.
max.message.bytes INT 1048588 0.. MEDIUM cluster-wide honoured
  Largest batch that a producer may send, after compression.
message.timestamp.after.max.ms LONG 3600000 0.. MEDIUM cluster-wide honoured
  How far in the future a record's timestamp may be.
message.timestamp.before.max.ms LONG 9223372036854775807 0.. MEDIUM cluster-wide honoured
  How far in the past a record's timestamp may be.
message.timestamp.type STRING CreateTime CreateTime|LogAppendTime MEDIUM cluster-wide honoured
  Whether a record's timestamp is the producer's (CreateTime) or that of the append (LogAppendTime).
min.cleanable.dirty.ratio DOUBLE 0.5 0..1 MEDIUM cluster-wide honoured
  Fraction of uncleaned bytes from which the log is cleaned.
min.compaction.lag.ms LONG 0 0.. MEDIUM cluster-wide honoured
  Shortest time before a record may be compacted away.
min.insync.replicas INT 1 1.. MEDIUM cluster-wide honoured
  Replicas that must be in sync for a write with acks=all to succeed.
preallocate BOOLEAN false any MEDIUM cluster-wide honoured
  Whether a new segment gets its full size on disk at once.
remote.log.copy.disable BOOLEAN false any MEDIUM cluster-wide accepted
  Whether a tiered topic stops copying and only reads what was tiered.
remote.log.delete.on.disable BOOLEAN false any MEDIUM cluster-wide accepted
  Whether tiered data is deleted when tiering is switched off.
remote.storage.enable BOOLEAN false any MEDIUM cluster-wide refused
  Whether the topic's segments go to tiered storage.
retention.bytes LONG -1 any MEDIUM cluster-wide honoured
  Size of a partition above which its oldest segments are deleted; -1 for no limit.
retention.ms LONG 604800000 -1.. MEDIUM cluster-wide honoured
  Time after which a segment is deleted, or -1 for never.
segment.bytes INT 1073741824 1048576.. MEDIUM cluster-wide honoured
  Maximum size of a segment; a new one is started before it would be exceeded.
segment.index.bytes INT 10485760 4.. MEDIUM cluster-wide honoured
  Size at which an index is full and its segment is closed.
segment.jitter.ms LONG 0 0.. MEDIUM cluster-wide honoured
  Random time subtracted from segment.ms, so that not all segments close at once.
segment.ms LONG 604800000 1.. MEDIUM cluster-wide honoured
  Time after which a segment is closed even if it is not full.
unclean.leader.election.enable BOOLEAN false any MEDIUM cluster-wide honoured
  Whether a replica that is not in sync may become leader, which can lose records.
"""  # noqa: E501
