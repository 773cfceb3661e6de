"""A batch is written once: the decision from mark and checkpoint."""

import pytest

from moldau.spark.batch_marker import Step, next_step
from moldau.spark.errors import PipelineError


def test_the_next_batch_is_written_and_the_last_one_skipped() -> None:
    for is_repeated in (False, True):
        assert next_step(7, 7, has_begun=True, is_repeated=is_repeated) is Step.WRITE
        assert next_step(6, 7, has_begun=True, is_repeated=is_repeated) is Step.SKIP


def test_a_query_that_has_not_written_yet_begins() -> None:
    for is_repeated in (False, True):
        assert next_step(0, None, has_begun=False, is_repeated=is_repeated) is Step.WRITE
        # It only got as far as its first mark.
        assert next_step(0, 0, has_begun=False, is_repeated=is_repeated) is Step.WRITE


def test_a_batch_that_is_new_is_written_also_if_the_mark_is_gone() -> None:
    for has_begun in (False, True):
        assert next_step(7, None, has_begun=has_begun, is_repeated=False) is Step.WRITE


@pytest.mark.parametrize(
    "batch_id, written, has_begun, is_repeated, said",
    [
        (0, None, True, True, "the mark of batch 0 is gone"),
        # Batch 0 is never new to a query that has written.
        (0, None, True, False, "the mark of batch 0 is gone"),
        (7, None, True, True, "the mark of batch 7 is gone"),
        (7, None, False, True, "does not write exactly once: compare the end"),
        (5, 7, True, False, "continues with batch 5, but 7 batches are written: it is an older"),
        (8, 7, True, False, "continues with batch 8, but 7 batches are written: it is another"),
    ],
)
def test_where_it_cannot_be_known_nothing_is_written(
    batch_id: int, written: int | None, has_begun: bool, is_repeated: bool, said: str
) -> None:
    with pytest.raises(PipelineError) as failed:
        next_step(batch_id, written, has_begun=has_begun, is_repeated=is_repeated)
    assert said in str(failed.value)
    assert "new checkpoint" in str(failed.value)
