"""Reports that partitions with an unclean leader have recovered (KIP-704).

A replica that was elected although it may have lost records is marked as recovering, and stays
alone in the ISR. Here a leader recovers by serving the records it has, so it reports this as soon
as it leads.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from moldau.broker.controller_channel import ControllerChannel
from moldau.metadata.image import MetadataImage
from moldau.metadata.registrations import RECOVERED, RECOVERING
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    PartitionData,
    TopicData,
)

# One request at a time changes so many partitions, at most.
_PER_REQUEST: Final = 1000


async def report_recovered(
    broker_id: int, broker_epoch: int, image: MetadataImage, channel: ControllerChannel
) -> None:
    """Mark the partitions as recovered that the broker leads in ``image``.

    Raises:
        ApiError: the controller refused a whole request.
    """
    recovering = _recovering(broker_id, broker_epoch, image)
    while some := list(islice(recovering, _PER_REQUEST)):
        topics: dict[bytes, TopicData] = {}
        for topic_id, partition in some:
            topic = topics.setdefault(topic_id, TopicData(topic_id=topic_id))
            topic.partitions.append(partition)
        await channel.send(
            AlterPartitionRequest(
                broker_id=broker_id, broker_epoch=broker_epoch, topics=list(topics.values())
            )
        )


def _recovering(
    broker_id: int, broker_epoch: int, image: MetadataImage
) -> Iterator[tuple[bytes, PartitionData]]:
    for topic in image.topics_by_id.values():
        for index, registration in topic.partitions.items():
            is_recovering = registration.leader_recovery_state == RECOVERING
            if is_recovering and registration.leader == broker_id:
                yield (
                    topic.id,
                    PartitionData(
                        partition_index=index,
                        leader_epoch=registration.leader_epoch,
                        new_isr_with_epochs=[BrokerState(broker_id, broker_epoch)],
                        leader_recovery_state=RECOVERED,
                        partition_epoch=registration.partition_epoch,
                    ),
                )
