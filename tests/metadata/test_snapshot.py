"""A snapshot recreates the image, for any history and any record."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from moldau.metadata.delta import MetadataDelta, MetadataError, apply
from moldau.metadata.framing import decode_record, encode_record
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.loader import MetadataLoader
from moldau.metadata.snapshot import snapshot_records
from moldau.protocol.message import Message
from moldau.protocol.records.metadata import BeginTransactionRecord, EndTransactionRecord
from tests.metadata.strategies import histories


def possible(history: Sequence[Message]) -> list[Message]:
    """The records of ``history`` that can follow the ones before them."""
    image = EMPTY_IMAGE
    kept = []
    for record in history:
        try:
            image, _ = apply(image, [record])
        except MetadataError:
            continue
        kept.append(record)
    return kept


def image_of(history: Sequence[Message]) -> MetadataImage:
    return apply(EMPTY_IMAGE, history)[0]


@given(histories)
def test_a_snapshot_builds_the_same_image_again(history: list[Message]) -> None:
    image = image_of(possible(history))
    written = [encode_record(record, 30) for record in snapshot_records(image)]
    again = image_of([decode_record(value) for value in written])
    assert again.has_same_content(image)
    rewritten = [encode_record(record, 30) for record in snapshot_records(again)]
    assert rewritten == written


@given(histories, st.integers(0, 40))
def test_it_does_not_matter_how_records_are_split_into_batches(
    history: list[Message], cut: int
) -> None:
    kept = possible(history)
    one_by_one = EMPTY_IMAGE
    for record in kept:
        one_by_one, _ = apply(one_by_one, [record])
    first, _ = apply(EMPTY_IMAGE, kept[:cut])
    both, _ = apply(first, kept[cut:])
    assert image_of(kept).has_same_content(one_by_one)
    assert both.has_same_content(one_by_one)


@given(histories, histories)
def test_an_image_is_never_changed_by_what_comes_after(
    before: list[Message], after: list[Message]
) -> None:
    image = image_of(possible(before))
    written = [encode_record(record, 30) for record in snapshot_records(image)]
    delta = MetadataDelta(image)
    for record in after:
        try:
            delta.replay(record)
        except MetadataError:
            continue
    delta.build(1, 1, 1)
    assert [encode_record(record, 30) for record in snapshot_records(image)] == written


@given(histories)
def test_a_transaction_is_seen_at_its_end_and_not_before(history: list[Message]) -> None:
    kept = possible(history)
    loader = MetadataLoader()
    loader.add_batch(0, 1, 0, [BeginTransactionRecord(), *kept])
    image, delta = loader.take()
    assert image.has_same_content(EMPTY_IMAGE)
    assert delta.is_empty
    loader.add_batch(len(kept) + 1, 1, 0, [EndTransactionRecord()])
    image, _ = loader.take()
    assert image.has_same_content(image_of(kept))
    assert image.offset == len(kept) + 1
