"""Settings of listeners, connections and requests."""

from typing import Final

NETWORK: Final = """
advertised.listeners LIST null nonempty HIGH read-only honoured
  Addresses that clients and other brokers use; the listeners if unset.
connections.max.idle.ms LONG 600000 any MEDIUM read-only honoured
  An idle connection is closed after this time.
early.start.listeners LIST null any HIGH read-only accepted
  Listeners opened before the authorizer is ready.
fetch.max.bytes INT 57671680 1024.. MEDIUM read-only honoured
  Maximum bytes in a fetch response.
fetch.purgatory.purge.interval.requests INT 1000 any MEDIUM read-only accepted
  Requests after which finished fetches are dropped from the waiting list.
inter.broker.listener.name STRING null any MEDIUM read-only honoured
  Listener for connections between brokers.
listener.security.protocol.map STRING SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT any LOW per-broker honoured
  Security protocol of each listener name.
listeners LIST PLAINTEXT://:9092 nonempty HIGH per-broker honoured
  Addresses to listen on, as NAME://host:port; no host means every interface.
max.connection.creation.rate INT 2147483647 0.. MEDIUM cluster-wide honoured
  Maximum new connections per second; further ones are delayed.
max.connections INT 2147483647 0.. MEDIUM cluster-wide honoured
  Maximum number of connections.
max.connections.per.ip INT 2147483647 0.. MEDIUM cluster-wide honoured
  Maximum number of connections from one IP address.
max.connections.per.ip.overrides STRING '' any MEDIUM cluster-wide honoured
  Limits for single addresses, as host:count.
max.incremental.fetch.session.cache.slots INT 1000 0.. MEDIUM read-only honoured
  Maximum number of incremental fetch sessions.
max.request.partition.size.limit INT 2000 1.. MEDIUM read-only honoured
  Maximum number of partitions in a DescribeTopicPartitions response.
num.io.threads INT 8 1.. HIGH cluster-wide accepted
  Threads that handle requests.
num.network.threads INT 3 1.. HIGH cluster-wide accepted
  Threads that read and write sockets, per listener.
queued.max.request.bytes LONG -1 any MEDIUM read-only accepted
  Bytes of waiting requests above which no more are read; -1 for no limit.
queued.max.requests INT 500 1.. HIGH read-only accepted
  Maximum number of queued requests; no more are read above it.
request.timeout.ms INT 30000 any HIGH read-only honoured
  How long this broker waits for a response of another broker.
socket.connection.setup.timeout.max.ms LONG 30000 any MEDIUM read-only accepted
  Longest time that this broker gives a connection it opens.
socket.connection.setup.timeout.ms LONG 10000 any MEDIUM read-only accepted
  First time limit for a connection that this broker opens.
socket.listen.backlog.size INT 50 1.. MEDIUM read-only honoured
  Connections that may wait to be accepted.
socket.receive.buffer.bytes INT 102400 any HIGH read-only honoured
  Receive buffer of a socket; -1 for the system's default.
socket.request.max.bytes INT 104857600 1.. HIGH read-only honoured
  Largest request; a larger one closes the connection.
socket.send.buffer.bytes INT 102400 any HIGH read-only honoured
  Send buffer of a socket; -1 for the system's default.
"""  # noqa: E501
