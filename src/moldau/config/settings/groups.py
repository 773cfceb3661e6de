"""Settings of consumer, share and streams groups and of the logs that hold their state."""

from typing import Final

GROUPS: Final = """
group.consumer.assignment.interval.ms INT 1000 0.. MEDIUM cluster-wide honoured
  Shortest time between two assignments of a consumer group.
group.consumer.assignors LIST uniform,range any MEDIUM read-only honoured
  Server-side assignors of consumer groups; the first is the default.
group.consumer.heartbeat.interval.ms INT 5000 1.. MEDIUM read-only honoured
  How often members of a consumer group send a heartbeat.
group.consumer.max.assignment.interval.ms INT 15000 0.. MEDIUM read-only honoured
  Largest assignment interval that a consumer group may request.
group.consumer.max.heartbeat.interval.ms INT 15000 1.. MEDIUM read-only honoured
  Largest heartbeat interval that a consumer group may request.
group.consumer.max.session.timeout.ms INT 60000 1.. MEDIUM read-only honoured
  Largest session timeout that a consumer group may request.
group.consumer.max.size INT 2147483647 1.. MEDIUM read-only honoured
  Maximum number of members of one consumer group.
group.consumer.migration.policy STRING bidirectional ~DISABLED|DOWNGRADE|UPGRADE|BIDIRECTIONAL MEDIUM read-only honoured
  Which migrations between the classic and the consumer protocol are allowed.
group.consumer.min.assignment.interval.ms INT 0 0.. MEDIUM read-only honoured
  Smallest assignment interval that a consumer group may request.
group.consumer.min.heartbeat.interval.ms INT 5000 1.. MEDIUM read-only honoured
  Smallest heartbeat interval that a consumer group may request.
group.consumer.min.session.timeout.ms INT 45000 1.. MEDIUM read-only honoured
  Smallest session timeout that a consumer group may request.
group.consumer.session.timeout.ms INT 45000 1.. MEDIUM read-only honoured
  Time without a heartbeat after which a member is removed from a consumer group.
group.coordinator.append.linger.ms INT -1 -1.. MEDIUM read-only accepted
  How long the group coordinator collects writes for a batch; -1 adapts automatically.
group.coordinator.background.threads INT 2 1.. HIGH read-only accepted
  Threads for the coordinator's long computations.
group.coordinator.cached.buffer.max.bytes INT 1048588 524288.. MEDIUM cluster-wide accepted
  Largest write buffer that the group coordinator keeps for reuse.
group.coordinator.rebalance.protocols LIST classic,consumer,streams consumer|classic|share|streams MEDIUM read-only honoured
  Enabled group protocols.
group.coordinator.threads INT 4 1.. HIGH read-only accepted
  Threads of the group coordinator.
group.initial.rebalance.delay.ms INT 3000 any MEDIUM read-only honoured
  How long a new classic group waits for more members before its first rebalance.
group.max.session.timeout.ms INT 1800000 any MEDIUM read-only honoured
  Largest session timeout that a classic member may request.
group.max.size INT 2147483647 1.. MEDIUM read-only honoured
  Maximum number of members of one classic group.
group.min.session.timeout.ms INT 6000 any MEDIUM read-only honoured
  Smallest session timeout that a classic member may request.
group.share.assignment.interval.ms INT 1000 0.. MEDIUM cluster-wide accepted
  Shortest time between two assignments of a share group.
group.share.assignors LIST simple any MEDIUM read-only accepted
  Server-side assignors of share groups.
group.share.delivery.count.limit INT 5 2..10 MEDIUM read-only accepted
  How often a record is delivered before it is archived.
group.share.heartbeat.interval.ms INT 5000 1.. MEDIUM read-only accepted
  How often members of a share group send a heartbeat.
group.share.max.assignment.interval.ms INT 15000 0.. MEDIUM read-only accepted
  Largest assignment interval that a share group may request.
group.share.max.delivery.count.limit INT 10 5..25 MEDIUM read-only accepted
  Largest delivery count limit that a share group may request.
group.share.max.heartbeat.interval.ms INT 15000 1.. MEDIUM read-only accepted
  Largest heartbeat interval that a share group may request.
group.share.max.partition.max.record.locks INT 4000 2000..10000 MEDIUM read-only accepted
  Largest number of locks per partition that a share group may request.
group.share.max.record.lock.duration.ms INT 60000 30000..3600000 MEDIUM read-only accepted
  Longest lock that a share group may request.
group.share.max.session.timeout.ms INT 60000 1.. MEDIUM read-only accepted
  Largest session timeout that a share group may request.
group.share.max.share.sessions INT 2000 1.. MEDIUM read-only accepted
  Maximum number of share sessions on one broker.
group.share.max.size INT 200 1..1000 MEDIUM read-only accepted
  Maximum number of members of one share group.
group.share.min.assignment.interval.ms INT 0 0.. MEDIUM read-only accepted
  Smallest assignment interval that a share group may request.
group.share.min.delivery.count.limit INT 2 2..5 MEDIUM read-only accepted
  Smallest delivery count limit that a share group may request.
group.share.min.heartbeat.interval.ms INT 5000 1.. MEDIUM read-only accepted
  Smallest heartbeat interval that a share group may request.
group.share.min.partition.max.record.locks INT 100 100..2000 MEDIUM read-only accepted
  Smallest number of locks per partition that a share group may request.
group.share.min.record.lock.duration.ms INT 15000 1000..30000 MEDIUM read-only accepted
  Shortest lock that a share group may request.
group.share.min.session.timeout.ms INT 45000 1.. MEDIUM read-only accepted
  Smallest session timeout that a share group may request.
group.share.partition.max.record.locks INT 2000 100..10000 MEDIUM read-only accepted
  Maximum number of records of one partition that a share group may lock.
group.share.record.lock.duration.ms INT 30000 1000..3600000 MEDIUM read-only accepted
  How long a share consumer holds a record before it can be delivered to another.
group.share.session.timeout.ms INT 45000 1.. MEDIUM read-only accepted
  Time without a heartbeat after which a member is removed from a share group.
group.streams.assignment.interval.ms INT 1000 0.. MEDIUM cluster-wide accepted
  Shortest time between two assignments of a streams group.
group.streams.heartbeat.interval.ms INT 5000 1.. MEDIUM read-only accepted
  How often members of a streams group send a heartbeat.
group.streams.initial.rebalance.delay.ms INT 3000 0.. MEDIUM read-only accepted
  How long a new streams group waits for more members.
group.streams.max.assignment.interval.ms INT 15000 0.. MEDIUM read-only accepted
  Largest assignment interval that a streams group may request.
group.streams.max.heartbeat.interval.ms INT 15000 1.. MEDIUM read-only accepted
  Largest heartbeat interval that a streams group may request.
group.streams.max.session.timeout.ms INT 60000 1.. MEDIUM read-only accepted
  Largest session timeout that a streams group may request.
group.streams.max.size INT 2147483647 1.. MEDIUM read-only accepted
  Maximum number of members of one streams group.
group.streams.max.standby.replicas INT 2 0.. MEDIUM read-only accepted
  Maximum number of standby replicas that a streams group may request.
group.streams.min.assignment.interval.ms INT 0 0.. MEDIUM read-only accepted
  Smallest assignment interval that a streams group may request.
group.streams.min.heartbeat.interval.ms INT 5000 1.. MEDIUM read-only accepted
  Smallest heartbeat interval that a streams group may request.
group.streams.min.session.timeout.ms INT 45000 1.. MEDIUM read-only accepted
  Smallest session timeout that a streams group may request.
group.streams.num.standby.replicas INT 0 0.. MEDIUM read-only accepted
  Standby replicas of each task's state in a streams group.
group.streams.session.timeout.ms INT 45000 1.. MEDIUM read-only accepted
  Time without a heartbeat after which a member is removed from a streams group.
offset.metadata.max.bytes INT 4096 any HIGH read-only honoured
  Maximum size of the metadata that a consumer may store with an offset.
offsets.commit.timeout.ms INT 5000 1.. HIGH read-only honoured
  How long a commit of offsets waits for the replicas.
offsets.load.buffer.size INT 5242880 1.. HIGH read-only honoured
  Batch size for loading committed offsets into memory.
offsets.retention.check.interval.ms LONG 600000 1.. HIGH read-only honoured
  How often the broker checks for expired offsets.
offsets.retention.minutes INT 10080 1.. HIGH read-only honoured
  How long the offsets of an empty group are kept.
offsets.topic.compression.codec INT 0 any HIGH read-only honoured
  Codec of the offsets topic.
offsets.topic.num.partitions INT 50 1.. HIGH read-only honoured
  Partitions of the offsets topic.
offsets.topic.replication.factor SHORT 3 1.. HIGH read-only honoured
  Replicas of the offsets topic.
offsets.topic.segment.bytes INT 104857600 1.. HIGH read-only honoured
  Segment size of the offsets topic.
share.coordinator.append.linger.ms INT -1 -1.. MEDIUM read-only accepted
  How long the share coordinator collects writes for a batch; -1 adapts automatically.
share.coordinator.cached.buffer.max.bytes INT 1048588 524288.. MEDIUM cluster-wide accepted
  Largest write buffer that the share coordinator keeps for reuse.
share.coordinator.load.buffer.size INT 5242880 1.. HIGH read-only accepted
  Batch size in which share state is read into memory.
share.coordinator.snapshot.update.records.per.snapshot INT 500 0..500 MEDIUM read-only accepted
  Changes of share state written between two snapshots of it.
share.coordinator.state.topic.compression.codec INT 0 any HIGH read-only accepted
  Codec of the share state topic.
share.coordinator.state.topic.min.isr SHORT 2 1.. HIGH read-only honoured
  Replicas of the share state topic that must be in sync.
share.coordinator.state.topic.num.partitions INT 50 1.. HIGH read-only honoured
  Partitions of the share state topic.
share.coordinator.state.topic.replication.factor SHORT 3 1.. HIGH read-only honoured
  Replicas of the share state topic.
share.coordinator.state.topic.segment.bytes INT 104857600 1.. HIGH read-only honoured
  Segment size of the share state topic.
share.coordinator.threads INT 1 1.. MEDIUM read-only accepted
  Threads of the share coordinator.
share.coordinator.write.timeout.ms INT 5000 1.. HIGH read-only accepted
  How long a write of share state waits for the replicas.
share.fetch.purgatory.purge.interval.requests INT 1000 any MEDIUM read-only accepted
  Requests after which finished share fetches are dropped from the waiting list.
"""  # noqa: E501

# Internal settings of Kafka: they have an effect, but are shown only if they are set.
INTERNAL_GROUPS: Final = """
group.consumer.regex.refresh.interval.ms INT 600000 10000.. MEDIUM read-only honoured
  How often subscription patterns are resolved again even if no topic was created.
"""
