"""A transactional producer that writes records and offsets, and reads what is committed."""

from typing import Any, Final

from moldau.errors import ErrorCode
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from moldau.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from moldau.record.records import decode_all
from tests.broker.grouping import fetch_request as offsets_request
from tests.broker.producing import fetch
from tests.broker.transacting import Producer
from tests.broker.transactional import transactional
from tests.running import WireClient

# Versions of Produce: adds partitions; only verifies them; does not know TRANSACTION_ABORTABLE.
ADDS: Final = 12
VERIFIES: Final = 11
OLD: Final = 10


class Writer(Producer):
    """A producer that writes to the topic of its test."""

    def __init__(self, client: WireClient, name: str) -> None:
        super().__init__(client, name)
        self.topic = name

    def request(self, *batches: tuple[int, bytes], acks: int = -1) -> ProduceRequest:
        data = [PartitionProduceData(index=index, records=records) for index, records in batches]
        return ProduceRequest(
            transactional_id=self.id,
            acks=acks,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name=self.topic, partition_data=data)],
        )

    def send(self, *batches: tuple[int, bytes], version: int = ADDS) -> list[ErrorCode]:
        response = self.client.send(self.request(*batches), version)
        return [ErrorCode(each.error_code) for each in response.responses[0].partition_responses]

    def batch(self, sequence: int, *values: bytes, **fields: Any) -> bytes:
        fields = {"epoch": self.epoch, "timestamp": None, **fields}
        return transactional(self.producer_id, sequence, *values, **fields)

    def write(
        self, sequence: int, value: bytes, partition: int = 0, *, version: int = ADDS, **fields: Any
    ) -> ErrorCode:
        (code,) = self.send((partition, self.batch(sequence, value, **fields)), version=version)
        return code

    def read(self, partition: int = 0) -> list[bytes | None]:
        """What a consumer with read_committed gets."""
        data = fetch(self.client, self.topic, 0, partition, isolation_level=1)
        aborted = [(each.producer_id, each.first_offset) for each in data.aborted_transactions]
        skipped: set[int] = set()
        seen: list[bytes | None] = []
        for header, records in decode_all(bytes(data.records)):
            if header.is_control:
                skipped.discard(header.producer_id)
            elif (header.producer_id, header.base_offset) in aborted:
                skipped.add(header.producer_id)
            if not header.is_control and header.producer_id not in skipped:
                seen += [record.value for record in records]
        return seen

    # -- offsets

    def commit_offsets(
        self,
        offsets: dict[tuple[str, int], int],
        *,
        group: str = "",
        version: int = 5,
        **member: Any,
    ) -> dict[tuple[str, int], ErrorCode]:
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for (topic, index), offset in offsets.items():
            each = TxnOffsetCommitRequestPartition(index, offset)
            topics.setdefault(topic, []).append(each)
        request = TxnOffsetCommitRequest(
            self.id,
            group or self.topic,
            self.producer_id,
            self.epoch,
            topics=[TxnOffsetCommitRequestTopic(*each) for each in topics.items()],
            **member,
        )
        response = self.client.send(request, version)
        return {
            (topic.name, each.partition_index): ErrorCode(each.error_code)
            for topic in response.topics
            for each in topic.partitions
        }

    def commit_offset(self, offset: int, *, version: int = 5, **member: Any) -> ErrorCode:
        place = (self.topic, 0)
        return self.commit_offsets({place: offset}, version=version, **member)[place]

    def offset(self, *, stable: bool = False) -> int | ErrorCode:
        """The committed offset of the group, or the error."""
        request = offsets_request(self.topic, self.topic, [0])
        request.require_stable = stable
        (group,) = self.client.send(request, 9).groups
        each = group.topics[0].partitions[0]
        return ErrorCode(each.error_code) if each.error_code else int(each.committed_offset)
