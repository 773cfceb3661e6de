"""Reading back what a test wrote."""

from moldau.client.consumer import Consumer, ConsumerRecord


def read_all(bootstrap: str, topic: str, count: int) -> list[ConsumerRecord]:
    """The records of all partitions of ``topic``, which must be ``count`` and no more."""
    with Consumer(bootstrap) as consumer:
        consumer.assign(dict.fromkeys(consumer.partitions_of(topic), 0))
        records: list[ConsumerRecord] = []
        while len(records) < count:
            came = consumer.poll(10)
            assert came, f"only {len(records)} of {count} records came"
            records += came
        assert not consumer.poll(0), "there are more records than were written"
    return records
