"""Settings of the node, of the metadata quorum and of its log."""

from typing import Final

QUORUM: Final = """
broker.heartbeat.interval.ms INT 2000 any MEDIUM read-only honoured
  How often a broker sends a heartbeat to the controller.
broker.id INT -1 any HIGH read-only honoured
  The older name of node.id.
broker.rack STRING null any MEDIUM read-only honoured
  Rack of the broker; replicas are spread over racks.
broker.session.timeout.ms INT 9000 any MEDIUM read-only honoured
  How long the controller waits for a heartbeat before it fences the broker.
controller.listener.names LIST REQUIRED nonempty HIGH read-only honoured
  Listeners of the controller role.
controller.quorum.append.linger.ms INT 25 0.. MEDIUM read-only accepted
  How long the quorum leader collects writes before it flushes them.
controller.quorum.auto.join.enable BOOLEAN false any LOW read-only honoured
  Whether a controller adds itself to the voters.
controller.quorum.bootstrap.servers LIST '' any HIGH read-only honoured
  Controllers to contact first to find the quorum.
controller.quorum.election.backoff.max.ms INT 1000 0.. HIGH read-only honoured
  Longest random back-off after an election without a winner.
controller.quorum.election.timeout.ms INT 1000 0.. HIGH read-only honoured
  How long a candidate waits for votes before it starts another election.
controller.quorum.fetch.max.bytes INT 1048576 1.. LOW read-only honoured
  Maximum bytes of the metadata log in one fetch.
controller.quorum.fetch.snapshot.max.bytes INT 1048576 1.. LOW read-only honoured
  Maximum bytes of a metadata snapshot in one fetch.
controller.quorum.fetch.timeout.ms INT 2000 0.. HIGH read-only honoured
  How long a voter waits without a fetch from the leader before it starts an election.
controller.quorum.request.timeout.ms INT 2000 0.. MEDIUM read-only honoured
  How long a quorum request may take.
controller.quorum.retry.backoff.ms INT 20 0.. LOW read-only honoured
  Pause before a quorum request is sent again.
controller.quorum.voters LIST '' any HIGH read-only honoured
  The voters of a quorum with a fixed membership, as id@host:port.
initial.broker.registration.timeout.ms INT 60000 any MEDIUM read-only honoured
  How long a starting broker tries to register before it gives up.
metadata.log.dir STRING null any HIGH read-only honoured
  Directory of the metadata log; the first of log.dirs if unset.
metadata.log.max.record.bytes.between.snapshots LONG 20971520 1.. HIGH read-only honoured
  Bytes of new metadata after which a snapshot is taken.
metadata.log.max.snapshot.interval.ms LONG 3600000 0.. HIGH read-only honoured
  Longest time between two snapshots while metadata changes.
metadata.log.segment.bytes INT 1073741824 8388608.. HIGH read-only honoured
  Size at which a segment of the metadata log is closed.
metadata.log.segment.ms LONG 604800000 any HIGH read-only honoured
  Time after which a segment of the metadata log is closed.
metadata.max.idle.interval.ms INT 500 0.. LOW read-only honoured
  How often an idle controller writes an empty record; 0 never.
metadata.max.retention.bytes LONG 104857600 any HIGH read-only honoured
  Size of metadata log and snapshots above which the oldest are deleted.
metadata.max.retention.ms LONG 604800000 any HIGH read-only honoured
  Age at which metadata segments and snapshots are deleted.
node.id INT REQUIRED 0.. HIGH read-only honoured
  Id of this node in the cluster.
process.roles LIST REQUIRED broker|controller HIGH read-only honoured
  Roles of this node: broker, controller, or both.
"""
