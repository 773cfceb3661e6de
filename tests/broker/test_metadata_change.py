"""A change prepared in steps has the same records and the same image as one without steps."""

import pytest

from moldau.broker.metadata_change import PreparedChange
from moldau.metadata.delta import apply
from moldau.metadata.features import LATEST_METADATA_VERSION, METADATA_3_7_IV2, METADATA_4_0_IV1
from moldau.metadata.framing import encode_record
from moldau.metadata.image import EMPTY_IMAGE
from moldau.protocol.records.metadata import FeatureLevelRecord, PartitionRecord, TopicRecord
from moldau.record.header import read_header
from moldau.record.records import decode_records

TOPIC = bytes(range(16))
RECORDS = [
    TopicRecord(name="river", topic_id=TOPIC),
    *(
        PartitionRecord(
            partition_id=partition,
            topic_id=TOPIC,
            replicas=[1],
            isr=[1],
            leader=1,
            directories=[b"\x09" * 16],
        )
        for partition in range(3)
    ),
]


@pytest.mark.parametrize(
    "version", [METADATA_3_7_IV2 - 1, METADATA_3_7_IV2, METADATA_4_0_IV1, LATEST_METADATA_VERSION]
)
def test_the_batch_is_written_in_the_version_of_the_cluster(version: int) -> None:
    level = FeatureLevelRecord(name="metadata.version", feature_level=version)
    image, _ = apply(EMPTY_IMAGE, [level])
    change = PreparedChange(RECORDS, image, base_offset=5, epoch=2, timestamp_ms=2000)
    for _ in change.steps():
        pass
    batch = change.batch()
    header = read_header(batch, 0)
    assert (header.base_offset, header.last_offset) == (5, change.last_offset)
    assert (header.partition_leader_epoch, header.max_timestamp) == (2, 2000)
    written = [record.value for record in decode_records(batch)]
    assert written == [encode_record(record, version) for record in RECORDS]
    after = change.delta.build(change.last_offset, change.epoch, change.timestamp_ms)
    assert sorted(after.topics_by_name["river"].partitions) == [0, 1, 2]
