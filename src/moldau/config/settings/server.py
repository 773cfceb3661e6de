"""Settings of replication, quotas, metrics and the rest of the server."""

from typing import Final

SERVER: Final = """
alter.log.dirs.replication.quota.window.num INT 11 1.. LOW read-only accepted
  Samples kept for the rate at which replicas move between directories.
alter.log.dirs.replication.quota.window.size.seconds INT 1 1.. LOW read-only accepted
  Length of one sample of the rate at which replicas move between directories.
auto.leader.rebalance.enable BOOLEAN true any HIGH read-only honoured
  Whether leadership returns to the preferred replicas automatically.
background.threads INT 10 1.. HIGH cluster-wide accepted
  Threads for background work.
client.quota.callback.class CLASS null any LOW read-only refused
  Java class that decides which quotas apply to a client.
config.providers LIST '' any LOW cluster-wide refused
  Classes that fetch values of settings from elsewhere.
controlled.shutdown.enable BOOLEAN true any MEDIUM read-only accepted
  Whether a stopping broker first moves its leaderships to other brokers.
controller.quota.window.num INT 11 1.. LOW read-only accepted
  Samples kept for the rate of changes to the cluster's metadata.
controller.quota.window.size.seconds INT 1 1.. LOW read-only accepted
  Length of one sample of the rate of changes to the cluster's metadata.
controller.socket.timeout.ms INT 30000 any MEDIUM read-only honoured
  How long a broker waits for the controller on a socket.
delete.records.purgatory.purge.interval.requests INT 1 any MEDIUM read-only accepted
  Requests after which finished DeleteRecords are dropped from the waiting list.
kafka.metrics.polling.interval.secs INT 10 1.. LOW read-only accepted
  How often the metrics reporters below are called.
kafka.metrics.reporters LIST '' any LOW read-only accepted
  Java classes that report the server's older metrics.
leader.imbalance.check.interval.seconds LONG 300 1.. HIGH read-only honoured
  How often the controller looks for partitions not led by their preferred replica.
metric.reporters LIST org.apache.kafka.common.metrics.JmxReporter any LOW cluster-wide accepted
  Java classes that report metrics.
metrics.num.samples INT 2 1.. LOW read-only accepted
  Samples kept for a metric.
metrics.recording.level STRING INFO any LOW read-only accepted
  How detailed metrics are.
metrics.sample.window.ms LONG 30000 1.. LOW read-only accepted
  Length of one sample of a metric.
num.replica.alter.log.dirs.threads INT null any HIGH read-only honoured
  Threads that move replicas between directories; as many as directories if unset.
num.replica.fetchers INT 1 1.. HIGH cluster-wide honoured
  Threads that fetch from each other broker.
producer.purgatory.purge.interval.requests INT 1000 any MEDIUM read-only accepted
  Requests after which finished produces are dropped from the waiting list.
quota.window.num INT 11 1.. LOW read-only honoured
  Samples kept for client quotas.
quota.window.size.seconds INT 1 1.. LOW read-only honoured
  Length of one sample for client quotas.
replica.fetch.backoff.ms INT 1000 0.. MEDIUM read-only honoured
  Pause after a failed fetch from the leader.
replica.fetch.max.bytes INT 1048576 0.. MEDIUM read-only honoured
  Bytes that a follower asks for per partition.
replica.fetch.min.bytes INT 1 any HIGH read-only honoured
  Bytes for which a follower's fetch waits at the leader.
replica.fetch.response.max.bytes INT 10485760 0.. MEDIUM read-only honoured
  Bytes that a follower asks for in one fetch.
replica.fetch.wait.max.ms INT 500 any HIGH read-only honoured
  How long a follower's fetch waits at the leader.
replica.high.watermark.checkpoint.interval.ms LONG 5000 any HIGH read-only honoured
  How often high watermarks are written to disk.
replica.lag.time.max.ms LONG 30000 any HIGH read-only honoured
  A follower that has not caught up for this long leaves the in-sync replicas.
replica.selector.class STRING null any MEDIUM read-only honoured
  Java class that picks the replica a consumer reads from; RackAwareReplicaSelector is known.
replica.socket.receive.buffer.bytes INT 65536 any HIGH read-only accepted
  Receive buffer of a follower's socket.
replica.socket.timeout.ms INT 30000 any HIGH read-only honoured
  How long a follower waits for the leader on a socket.
replication.quota.window.num INT 11 1.. LOW read-only honoured
  Samples kept for the rate of replication.
replication.quota.window.size.seconds INT 1 1.. LOW read-only honoured
  Length of one sample of the rate of replication.
telemetry.max.bytes INT 1048576 1.. LOW read-only honoured
  Maximum size of the metrics that a client may push.
"""
