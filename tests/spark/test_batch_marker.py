"""A batch is written once: what mark and checkpoint say together."""

import pytest

from moldau.spark.batch_marker import Step, next_step
from moldau.spark.errors import PipelineError


def test_the_next_batch_is_written_and_the_last_one_skipped() -> None:
    assert next_step(0, None, has_begun=False) is Step.WRITE
    assert next_step(7, 7, has_begun=True) is Step.WRITE
    assert next_step(6, 7, has_begun=True) is Step.SKIP


def test_a_query_that_only_got_as_far_as_its_first_mark_goes_on() -> None:
    assert next_step(0, 0, has_begun=False) is Step.WRITE


@pytest.mark.parametrize(
    "batch_id, written, has_begun, said",
    [
        (0, None, True, "the mark of batch 0 is gone"),
        (7, None, True, "the mark of batch 7 is gone"),
        (7, None, False, "not written exactly once: compare the end"),
        (5, 7, True, "goes on with batch 5, but 7 batches are written: it is an older state"),
        (8, 7, True, "goes on with batch 8, but 7 batches are written: it is another history"),
    ],
)
def test_where_it_cannot_be_known_nothing_is_written(
    batch_id: int, written: int | None, has_begun: bool, said: str
) -> None:
    with pytest.raises(PipelineError) as failed:
        next_step(batch_id, written, has_begun=has_begun)
    assert said in str(failed.value)
    assert "new checkpoint" in str(failed.value)
