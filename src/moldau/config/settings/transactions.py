"""Settings of transactions and of producers' state."""

from typing import Final

TRANSACTIONS: Final = """
add.partitions.to.txn.retry.backoff.max.ms INT 100 0.. HIGH read-only honoured
  Longest back-off before the broker retries adding a partition to a transaction.
add.partitions.to.txn.retry.backoff.ms INT 20 1.. HIGH read-only honoured
  First back-off before the broker retries adding a partition to a transaction.
producer.id.expiration.ms INT 86400000 1.. LOW cluster-wide honoured
  How long the state of an inactive producer is kept.
transaction.abort.timed.out.transaction.cleanup.interval.ms INT 10000 1.. LOW read-only honoured
  How often transactions that took too long are aborted.
transaction.max.timeout.ms INT 900000 1.. HIGH read-only honoured
  Longest transaction timeout that a producer may request.
transaction.partition.verification.enable BOOLEAN true any LOW cluster-wide honoured
  Whether a transactional write is checked to belong to a running transaction.
transaction.remove.expired.transaction.cleanup.interval.ms INT 3600000 1.. LOW read-only honoured
  How often expired transactional ids are removed.
transaction.state.log.load.buffer.size INT 5242880 1.. HIGH read-only honoured
  Batch size in which transaction state is read into memory.
transaction.state.log.min.isr INT 2 1.. HIGH read-only honoured
  Replicas of the transaction topic that must be in sync.
transaction.state.log.num.partitions INT 50 1.. HIGH read-only honoured
  Partitions of the transaction topic.
transaction.state.log.replication.factor SHORT 3 1.. HIGH read-only honoured
  Replicas of the transaction topic.
transaction.state.log.segment.bytes INT 104857600 1.. HIGH read-only honoured
  Segment size of the transaction topic.
transaction.two.phase.commit.enable BOOLEAN false any LOW read-only honoured
  Whether transactions may use two-phase commit with an external coordinator.
transactional.id.expiration.ms INT 604800000 1.. HIGH read-only honoured
  How long an unused transactional id is kept.
"""
