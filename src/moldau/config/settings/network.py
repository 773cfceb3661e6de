"""Settings of listeners, connections and requests."""

from typing import Final

NETWORK: Final = """
advertised.listeners LIST null nonempty HIGH read-only honoured
  Addresses that clients and other brokers are told to use; the listeners themselves if unset.
connections.max.idle.ms LONG 600000 any MEDIUM read-only honoured
  A connection on which nothing happens for this long is closed.
early.start.listeners LIST null any HIGH read-only accepted
  Listeners opened before the authorizer is ready.
fetch.max.bytes INT 57671680 1024.. MEDIUM read-only honoured
  Most bytes in one answer to a fetch.
fetch.purgatory.purge.interval.requests INT 1000 any MEDIUM read-only accepted
  Requests after which finished fetches are dropped from the waiting list.
inter.broker.listener.name STRING null any MEDIUM read-only honoured
  Listener that brokers use among themselves.
listener.security.protocol.map STRING SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT any LOW per-broker honoured
  Security protocol of each listener name.
listeners LIST PLAINTEXT://:9092 nonempty HIGH per-broker honoured
  Addresses to listen on, as NAME://host:port; no host means every interface.
max.connection.creation.rate INT 2147483647 0.. MEDIUM cluster-wide honoured
  Most new connections per second; more have to wait.
max.connections INT 2147483647 0.. MEDIUM cluster-wide honoured
  Most connections at a time.
max.connections.per.ip INT 2147483647 0.. MEDIUM cluster-wide honoured
  Most connections at a time from one address.
max.connections.per.ip.overrides STRING '' any MEDIUM cluster-wide honoured
  Other limits for certain addresses, as host:count.
max.incremental.fetch.session.cache.slots INT 1000 0.. MEDIUM read-only honoured
  Most incremental fetch sessions that are remembered.
max.request.partition.size.limit INT 2000 1.. MEDIUM read-only honoured
  Most partitions in one answer to DescribeTopicPartitions.
num.io.threads INT 8 1.. HIGH cluster-wide accepted
  Threads that handle requests.
num.network.threads INT 3 1.. HIGH cluster-wide accepted
  Threads that read and write sockets, per listener.
queued.max.request.bytes LONG -1 any MEDIUM read-only accepted
  Bytes of waiting requests above which no more are read; -1 without limit.
queued.max.requests INT 500 1.. HIGH read-only accepted
  Waiting requests above which no more are read.
request.timeout.ms INT 30000 any HIGH read-only accepted
  How long this broker waits for another's answer.
socket.connection.setup.timeout.max.ms LONG 30000 any MEDIUM read-only accepted
  Longest time that this broker gives a connection it opens.
socket.connection.setup.timeout.ms LONG 10000 any MEDIUM read-only accepted
  First time limit for a connection that this broker opens.
socket.listen.backlog.size INT 50 1.. MEDIUM read-only honoured
  Connections that may wait to be accepted.
socket.receive.buffer.bytes INT 102400 any HIGH read-only honoured
  Receive buffer of a socket; -1 leaves it to the system.
socket.request.max.bytes INT 104857600 1.. HIGH read-only honoured
  Largest request; a larger one closes the connection.
socket.send.buffer.bytes INT 102400 any HIGH read-only honoured
  Send buffer of a socket; -1 leaves it to the system.
"""  # noqa: E501
