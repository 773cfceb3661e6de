"""Settings of topics and of the logs that hold them."""

from typing import Final

LOG: Final = """
alter.config.policy.class.name CLASS null any LOW read-only refused
  Java class that can reject changes of settings.
auto.create.topics.enable BOOLEAN true any HIGH read-only honoured
  Whether a request for a topic that does not exist creates it.
compression.gzip.level INT -1 -1,1..9 MEDIUM cluster-wide honoured
  Level at which the broker compresses with gzip; -1 is the codec's own default.
compression.lz4.level INT 9 1..17 MEDIUM cluster-wide honoured
  Level at which the broker compresses with lz4.
compression.type STRING producer uncompressed|zstd|lz4|snappy|gzip|producer HIGH cluster-wide honoured
  Codec of stored batches; producer keeps the codec of the producer.
compression.zstd.level INT 3 -131072..22 MEDIUM cluster-wide honoured
  Level at which the broker compresses with zstd.
cordoned.log.dirs LIST '' any MEDIUM per-broker honoured
  Log directories that get no new partitions.
create.topic.policy.class.name CLASS null any LOW read-only refused
  Java class that can reject the creation of a topic.
default.replication.factor INT 1 any MEDIUM read-only honoured
  Replicas of a topic that is created without a replication factor.
delete.topic.enable BOOLEAN true any HIGH read-only honoured
  Whether topics can be deleted.
log.cleaner.backoff.ms LONG 15000 0.. MEDIUM cluster-wide honoured
  How long an idle cleaner sleeps.
log.cleaner.dedupe.buffer.size LONG 134217728 any MEDIUM cluster-wide honoured
  Memory for the key tables of all cleaner threads together.
log.cleaner.delete.retention.ms LONG 86400000 0.. MEDIUM cluster-wide honoured
  How long compacted topics keep tombstones.
log.cleaner.enable BOOLEAN true any MEDIUM read-only honoured
  Whether the log cleaner runs; without it no topic is compacted.
log.cleaner.io.buffer.load.factor DOUBLE 0.9 any MEDIUM cluster-wide honoured
  How full the cleaner's key table may get.
log.cleaner.io.buffer.size INT 524288 0.. MEDIUM cluster-wide honoured
  Memory for the I/O buffers of all cleaner threads together.
log.cleaner.io.max.bytes.per.second DOUBLE 1.7976931348623157E308 any MEDIUM cluster-wide honoured
  Maximum bytes per second that all cleaner threads read and write.
log.cleaner.max.compaction.lag.ms LONG 9223372036854775807 1.. MEDIUM cluster-wide honoured
  Longest time before a record becomes eligible for compaction.
log.cleaner.min.cleanable.ratio DOUBLE 0.5 0..1 MEDIUM cluster-wide honoured
  Fraction of uncleaned bytes from which a log is cleaned.
log.cleaner.min.compaction.lag.ms LONG 0 0.. MEDIUM cluster-wide honoured
  Shortest time before a record may be compacted away.
log.cleaner.threads INT 1 0.. MEDIUM cluster-wide honoured
  Threads that compact logs.
log.cleanup.policy LIST delete compact|delete MEDIUM cluster-wide honoured
  What happens to old segments: delete, compact, or both.
log.dir LIST /tmp/kafka-logs nonempty HIGH read-only honoured
  Directory for logs, used when log.dirs is not set.
log.dir.failure.timeout.ms LONG 30000 1.. LOW read-only accepted
  A broker that cannot report a failed directory for this long stops.
log.dirs LIST null nonempty HIGH read-only honoured
  Directories for logs; partitions are spread over them.
log.flush.interval.messages LONG 9223372036854775807 1.. HIGH cluster-wide honoured
  Messages in a partition after which it is flushed to disk.
log.flush.interval.ms LONG null any HIGH cluster-wide honoured
  Longest time a message stays in memory before it is flushed to disk.
log.flush.offset.checkpoint.interval.ms INT 60000 0.. HIGH read-only honoured
  How often the recovery points of the logs are written.
log.flush.scheduler.interval.ms LONG 9223372036854775807 any HIGH read-only honoured
  How often the broker checks whether a log must be flushed.
log.flush.start.offset.checkpoint.interval.ms INT 60000 0.. HIGH read-only honoured
  How often the start offsets of the logs are written.
log.index.interval.bytes INT 4096 0.. MEDIUM cluster-wide honoured
  Bytes of log between two entries of the offset index.
log.index.size.max.bytes INT 10485760 4.. MEDIUM cluster-wide honoured
  Size at which an index is full and its segment is closed.
log.message.timestamp.after.max.ms LONG 3600000 0.. MEDIUM cluster-wide honoured
  How far in the future a record's timestamp may be.
log.message.timestamp.before.max.ms LONG 9223372036854775807 0.. MEDIUM cluster-wide honoured
  How far in the past a record's timestamp may be.
log.message.timestamp.type STRING CreateTime CreateTime|LogAppendTime MEDIUM cluster-wide honoured
  Whether a record's timestamp is the producer's (CreateTime) or that of the append (LogAppendTime).
log.preallocate BOOLEAN false any MEDIUM cluster-wide honoured
  Whether a new segment gets its full size on disk at once.
log.retention.bytes LONG -1 any HIGH cluster-wide honoured
  Size of a partition above which its oldest segments are deleted; -1 for no limit.
log.retention.check.interval.ms LONG 300000 1.. MEDIUM read-only honoured
  How often the broker checks for segments to delete.
log.retention.hours INT 168 any HIGH read-only honoured
  Hours after which a segment is deleted; has the lowest priority of the three retention settings.
log.retention.minutes INT null any HIGH read-only honoured
  Minutes after which a segment is deleted; overrides log.retention.hours.
log.retention.ms LONG null any HIGH cluster-wide honoured
  Milliseconds after which a segment is deleted, or -1 for never; overrides the other two.
log.roll.hours INT 168 1.. HIGH read-only honoured
  Hours after which a segment is closed even if it is not full.
log.roll.jitter.hours INT 0 0.. HIGH read-only honoured
  Random hours subtracted from log.roll.hours, so that not all segments close at once.
log.roll.jitter.ms LONG null any HIGH cluster-wide honoured
  Random milliseconds subtracted from log.roll.ms; overrides log.roll.jitter.hours.
log.roll.ms LONG null any HIGH cluster-wide honoured
  Milliseconds after which a segment is closed even if it is not full; overrides log.roll.hours.
log.segment.bytes INT 1073741824 1048576.. HIGH cluster-wide honoured
  Maximum size of a segment; a new one is started before it would be exceeded.
log.segment.delete.delay.ms LONG 60000 0.. HIGH cluster-wide honoured
  Time between removing a segment from the log and deleting its files.
message.max.bytes INT 1048588 0.. HIGH cluster-wide honoured
  Largest batch that a producer may send, after compression.
min.insync.replicas INT 1 1.. HIGH cluster-wide honoured
  Replicas that must be in sync for a write with acks=all to succeed.
num.partitions INT 1 1.. MEDIUM read-only honoured
  Partitions of a topic that is created without a number of partitions.
num.recovery.threads.per.data.dir INT 2 1.. HIGH cluster-wide honoured
  Threads per log directory for loading logs at start and flushing them at stop.
unclean.leader.election.enable BOOLEAN false any HIGH cluster-wide honoured
  Whether a replica that is not in sync may become leader, which can lose records.
"""  # noqa: E501
