"""Settings of tiered storage."""

from typing import Final

TIERED: Final = """
follower.fetch.last.tiered.offset.enable BOOLEAN false any MEDIUM cluster-wide accepted
  Whether an empty follower starts at the last tiered offset.
log.local.retention.bytes LONG -2 -2.. MEDIUM cluster-wide accepted
  Bytes of a tiered partition kept on this disk; -2 means as retention.bytes.
log.local.retention.ms LONG -2 -2.. MEDIUM cluster-wide accepted
  Time a tiered partition's segments stay on this disk; -2 means as retention.ms.
remote.fetch.max.wait.ms INT 500 1.. MEDIUM cluster-wide accepted
  How long a fetch waits for data from tiered storage.
remote.list.offsets.request.timeout.ms LONG 30000 1.. MEDIUM cluster-wide accepted
  How long a lookup of offsets in tiered storage may take.
remote.log.index.file.cache.total.size.bytes LONG 1073741824 1.. LOW cluster-wide accepted
  Disk space for indexes fetched from tiered storage.
remote.log.manager.copier.thread.pool.size INT 10 1.. MEDIUM cluster-wide accepted
  Threads that copy segments to tiered storage.
remote.log.manager.copy.max.bytes.per.second LONG 9223372036854775807 1.. MEDIUM cluster-wide accepted
  Maximum bytes per second copied to tiered storage.
remote.log.manager.copy.quota.window.num INT 11 1.. MEDIUM read-only accepted
  Samples kept for the rate of copying to tiered storage.
remote.log.manager.copy.quota.window.size.seconds INT 1 1.. MEDIUM read-only accepted
  Length of one sample of the rate of copying to tiered storage.
remote.log.manager.expiration.thread.pool.size INT 10 1.. MEDIUM cluster-wide accepted
  Threads that remove expired segments from tiered storage.
remote.log.manager.fetch.max.bytes.per.second LONG 9223372036854775807 1.. MEDIUM cluster-wide accepted
  Maximum bytes per second fetched from tiered storage.
remote.log.manager.fetch.quota.window.num INT 11 1.. MEDIUM read-only accepted
  Samples kept for the rate of fetching from tiered storage.
remote.log.manager.fetch.quota.window.size.seconds INT 1 1.. MEDIUM read-only accepted
  Length of one sample of the rate of fetching from tiered storage.
remote.log.manager.follower.thread.pool.size INT 2 1.. MEDIUM cluster-wide accepted
  Threads that read tiered metadata for followers.
remote.log.manager.task.interval.ms LONG 30000 1.. LOW read-only accepted
  How often the broker checks for tiered storage tasks.
remote.log.manager.thread.pool.size INT 2 1.. MEDIUM read-only accepted
  Threads that schedule the work for tiered storage.
remote.log.metadata.custom.metadata.max.bytes INT 128 0.. LOW read-only accepted
  Largest custom metadata that a storage plugin may keep per segment.
remote.log.metadata.manager.class.name STRING org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager nonempty MEDIUM read-only accepted
  Java class that keeps track of tiered segments.
remote.log.metadata.manager.class.path STRING null any MEDIUM read-only accepted
  Where that class is loaded from.
remote.log.metadata.manager.impl.prefix STRING rlmm.config. nonempty MEDIUM read-only accepted
  Prefix of the settings handed to the tiered metadata plugin.
remote.log.metadata.manager.listener.name STRING null nonempty MEDIUM read-only accepted
  Listener that the tiered metadata plugin connects to.
remote.log.reader.max.pending.tasks INT 100 1.. MEDIUM read-only accepted
  Reads from tiered storage that may wait.
remote.log.reader.threads INT 10 1.. MEDIUM cluster-wide accepted
  Threads that read from tiered storage.
remote.log.storage.manager.class.name STRING null nonempty MEDIUM read-only accepted
  Java class that stores tiered segments.
remote.log.storage.manager.class.path STRING null any MEDIUM read-only accepted
  Where the storage plugin is loaded from.
remote.log.storage.manager.impl.prefix STRING rsm.config. nonempty MEDIUM read-only accepted
  Prefix of the settings handed to the storage plugin.
remote.log.storage.system.enable BOOLEAN false any MEDIUM read-only refused
  Whether tiered storage is switched on.
"""  # noqa: E501
