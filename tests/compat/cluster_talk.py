"""A cluster of brokers that exist only as requests, on two controllers at once.

The same requests go to Apache Kafka's controller over a socket, and to Moldau's controller as a
call. What must differ gets a name: topic ids become the topic's name, and broker epochs, which are
offsets, become "new" or "same". Everything else in the answers must be equal.
"""

import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any

from tools.brokers import HOST

from moldau.errors import ApiError
from moldau.metadata.features import SUPPORTED_FEATURES
from moldau.protocol.api import APIS
from moldau.protocol.header import decode_response_header, encode_request_header
from moldau.protocol.message import Message
from moldau.protocol.messages import alter_partition as isr_messages
from moldau.protocol.messages import assign_replicas_to_dirs as dir_messages
from moldau.protocol.messages import broker_registration as registrations
from moldau.protocol.messages import create_topics as topics
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tests.controller.cluster import Cluster

EVERYTHING_SEEN = 1 << 40
ANY_EPOCH = -1


class KafkaController:
    """Apache Kafka's controller, through its controller listener."""

    def __init__(self, port: int, cluster_id: str) -> None:
        self.cluster_id = cluster_id
        self._socket = socket.create_connection((HOST, port), timeout=120)

    def send(self, request: Message, version: int) -> Any:
        key = request.API_KEY
        header = encode_request_header(key, version, 7, "compat")
        frame = header + request.encode(version)
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        answer = self._read(struct.unpack(">i", self._read(4))[0])
        _, position = decode_response_header(answer, key, version)
        return APIS[key].response_class().decode(answer, position, version)[0]

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self._socket.recv(size - len(data))
            assert chunk, "Apache Kafka closed the connection"
            data += chunk
        return data

    def close(self) -> None:
        self._socket.close()


class MoldauController:
    """Moldau's controller alone. Its broker 1 is there because the other's process has one."""

    def __init__(self, settings: dict[str, str]) -> None:
        self._cluster = Cluster(1, settings=settings)
        self.cluster_id = self._cluster.controller.state.cluster_id

    def send(self, request: Message, version: int) -> Any:
        response_class = APIS[request.API_KEY].response_class()
        self._cluster.heartbeat(1)
        try:
            response = self._cluster.decide(request, version)
        except ApiError as error:
            response = response_class()
            response.error_code = int(error.code)
            if hasattr(response, "error_message"):
                response.error_message = error.message
        encoded = bytes(response.encode(version))
        return response_class.decode(encoded, 0, version)[0]


class Side:
    """One controller, and what its brokers and topics are called there."""

    def __init__(self, controller: KafkaController | MoldauController) -> None:
        self._controller = controller
        self.epochs: dict[int, int] = {}
        self.topic_ids: dict[str, bytes] = {}
        # The leader epoch and the partition epoch of partition 0.
        self.partitions: dict[str, tuple[int, int]] = {}

    def send(self, request: Message, version: int | None = None) -> Any:
        latest = APIS[request.API_KEY].max_version
        return self._controller.send(request, latest if version is None else version)

    def named(self, answer: object) -> str:
        text = repr(answer)
        for name, topic_id in self.topic_ids.items():
            text = text.replace(repr(topic_id), f"<{name}>")
        return text

    def register(
        self, broker: int, incarnation: int = 1, version: int = 4, **fields: Any
    ) -> object:
        """Register a broker. ``without`` names a feature that it does not support."""
        without = fields.pop("without", None)
        request = registrations.BrokerRegistrationRequest(
            broker_id=broker,
            cluster_id=self._controller.cluster_id,
            incarnation_id=bytes([broker, incarnation]) * 8,
            listeners=[registrations.Listener(name="PLAINTEXT", host="nowhere", port=9092)],
            features=[
                registrations.Feature(
                    name=name,
                    min_supported_version=versions.min_version,
                    max_supported_version=versions.max_version,
                )
                for name, versions in SUPPORTED_FEATURES.items()
                if name != without
            ],
            log_dirs=[directory(broker)] if version >= 2 else [],
        )
        for name, value in fields.items():
            setattr(request, name, value)
        answer = self.send(request, version)
        if answer.error_code != 0:
            return answer
        known = self.epochs.get(broker)
        self.epochs[broker] = answer.broker_epoch
        return "same epoch" if answer.broker_epoch == known else "new epoch"

    def beat(self, broker: int, version: int = 1, **fields: Any) -> object:
        request = BrokerHeartbeatRequest(
            broker_id=broker,
            broker_epoch=self.epochs.get(broker, 0),
            current_metadata_offset=EVERYTHING_SEEN,
        )
        for name, value in fields.items():
            setattr(request, name, value)
        return self.send(request, version)

    def create(self, name: str, *assignments: Sequence[int], **configs: str) -> object:
        topic = topics.CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                topics.CreatableReplicaAssignment(partition_index=index, broker_ids=list(replicas))
                for index, replicas in enumerate(assignments)
            ],
            configs=[
                topics.CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )
        [created] = self.send(topics.CreateTopicsRequest(topics=[topic])).topics
        if created.error_code == 0:
            if name in self.topic_ids:
                self.topic_ids[f"old {name}"] = self.topic_ids[name]
            self.topic_ids[name] = created.topic_id
            self.partitions[name] = (0, 0)
        return created.error_code, created.error_message, created.num_partitions

    def alter(
        self, name: str, sender: int, isr: Sequence[int], version: int = 3, **fields: Any
    ) -> object:
        """Change the ISR of partition 0. ``epochs`` are those of brokers as the leader thinks."""
        epochs = {**self.epochs, **fields.pop("epochs", {})}
        sender_epoch = fields.pop("sender_epoch", self.epochs[sender])
        topic_id = fields.pop("topic_id", self.topic_ids[name])
        name = name.removeprefix("old ")
        leader_epoch, partition_epoch = self.partitions[name]
        wanted = isr_messages.PartitionData(
            partition_index=0, leader_epoch=leader_epoch, partition_epoch=partition_epoch
        )
        for key, value in fields.items():
            setattr(wanted, key, value)
        if version < 3:
            wanted.new_isr = list(isr)
        else:
            wanted.new_isr_with_epochs = [
                isr_messages.BrokerState(each, epochs.get(each, ANY_EPOCH)) for each in isr
            ]
        topic = isr_messages.TopicData(topic_id=topic_id, partitions=[wanted])
        request = isr_messages.AlterPartitionRequest(
            broker_id=sender, broker_epoch=sender_epoch, topics=[topic]
        )
        answer = self.send(request, version)
        for each in (each for topic in answer.topics for each in topic.partitions):
            if each.error_code == 0:
                self.partitions[name] = (each.leader_epoch, each.partition_epoch)
        return answer

    def assign(self, name: str, broker: int, **fields: Any) -> object:
        """Report the directory of the broker's replica of partition 0, or of ``partition``."""
        partition = dir_messages.PartitionData(partition_index=fields.get("partition", 0))
        topic_id = fields.get("topic_id", self.topic_ids[name])
        topic = dir_messages.TopicData(topic_id=topic_id, partitions=[partition])
        request = dir_messages.AssignReplicasToDirsRequest(
            broker_id=broker,
            broker_epoch=fields.get("epoch", self.epochs[broker]),
            directories=[dir_messages.DirectoryData(id=directory(broker), topics=[topic])],
        )
        return self.send(request)


def directory(broker: int) -> bytes:
    return bytes([100 + broker]) * 16


class Both:
    """Asks both controllers and compares what they say."""

    def __init__(self, kafka: KafkaController, moldau: MoldauController) -> None:
        self._kafka = Side(kafka)
        self._moldau = Side(moldau)

    def ask(self, question: Callable[[Side], object]) -> object:
        """The answer of both; ``question`` is asked of one side at a time."""
        theirs = question(self._kafka)
        ours = question(self._moldau)
        said = self._moldau.named(ours), self._kafka.named(theirs)
        assert said[0] == said[1], f"Moldau: {said[0]}\nKafka:  {said[1]}"
        return ours

    def leave(self) -> None:
        """Unregister all brokers."""
        for broker in list(self._kafka.epochs):
            request = UnregisterBrokerRequest(broker_id=broker)
            self.ask(lambda side, request=request: side.send(request))  # type: ignore[misc]

    def __getattr__(self, name: str) -> Callable[..., object]:
        """``both.beat(11)`` is ``side.beat(11)`` on both sides."""
        return lambda *arguments, **fields: self.ask(
            lambda side: getattr(side, name)(*arguments, **fields)
        )

    def join(self, *brokers: int) -> None:
        for broker in brokers:
            self.register(broker)
            self.beat(broker)
