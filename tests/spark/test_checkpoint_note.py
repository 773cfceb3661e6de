"""The batch of a checkpoint that was started and not completed."""

import pytest

from moldau.spark.checkpoint_note import unfinished


@pytest.mark.parametrize(
    "begun, ended, expected",
    [
        ([], [], None),
        (["0"], [], 0),
        (["0"], ["0"], None),
        # As numbers: 10 comes behind 9.
        (["9", "10"], ["8", "9"], 10),
        (["9", "10"], ["9", "10"], None),
        # What Spark leaves beside them is not a batch.
        (["3", ".4.crc", ".4.4711.tmp"], ["3", ".3.crc"], None),
        # Old files are deleted in their own time.
        (["99", "100"], ["100"], None),
    ],
)
def test_the_last_batch_is_unfinished_unless_it_was_ended(
    begun: list[str], ended: list[str], expected: int | None
) -> None:
    assert unfinished(begun, ended) == expected
