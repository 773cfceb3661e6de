"""Replaying a metadata log with its transactions."""

import pytest

from moldau.metadata.delta import MetadataError
from moldau.metadata.image import EMPTY_IMAGE
from moldau.metadata.loader import MetadataLoader
from moldau.protocol.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
)

LEVEL = FeatureLevelRecord(name="metadata.version", feature_level=30)


def test_offsets_go_on_while_a_transaction_is_open() -> None:
    loader = MetadataLoader()
    loader.add_batch(5, 2, 100, [BeginTransactionRecord(), LEVEL])
    assert loader.transaction_offset == 5
    image, _ = loader.take()
    assert (image.offset, image.epoch, image.timestamp_ms) == (6, 2, 100)
    assert image.metadata_version == -1


def test_an_aborted_transaction_never_was() -> None:
    loader = MetadataLoader()
    loader.add_batch(0, 1, 0, [BeginTransactionRecord(), LEVEL])
    loader.add_batch(2, 2, 0, [AbortTransactionRecord(), ProducerIdsRecord(next_producer_id=7)])
    image, _ = loader.take()
    assert loader.transaction_offset == -1
    assert image.has_same_content(EMPTY_IMAGE._replace(next_producer_id=7))


def test_a_control_batch_moves_only_the_offset() -> None:
    loader = MetadataLoader()
    loader.add_offsets(3, 4, 5)
    image, delta = loader.take()
    assert image == EMPTY_IMAGE._replace(offset=3, epoch=4, timestamp_ms=5)
    assert delta.is_empty


@pytest.mark.parametrize("marker", [EndTransactionRecord(), AbortTransactionRecord()])
def test_a_marker_without_a_transaction_is_refused(
    marker: EndTransactionRecord | AbortTransactionRecord,
) -> None:
    with pytest.raises(MetadataError, match="at offset 9, but none was begun"):
        MetadataLoader().add_batch(9, 1, 0, [marker])


def test_transactions_do_not_nest() -> None:
    loader = MetadataLoader()
    loader.add_batch(0, 1, 0, [BeginTransactionRecord()])
    with pytest.raises(MetadataError, match="inside the one begun at offset 0"):
        loader.add_batch(1, 1, 0, [BeginTransactionRecord()])
