"""What follows from the settings of the quorum."""

import pytest

from moldau.raft.config import RaftConfig


@pytest.mark.parametrize(
    ("fetch_timeout_ms", "request_timeout_ms", "expected_ms"),
    [(2_000, 2_000, 500), (600, 2_000, 300), (2_000, 400, 200)],
)
def test_a_fetch_is_answered_before_any_of_its_time_outs(
    fetch_timeout_ms: int, request_timeout_ms: int, expected_ms: int
) -> None:
    config = RaftConfig(1, fetch_timeout_ms=fetch_timeout_ms, request_timeout_ms=request_timeout_ms)
    assert config.fetch_max_wait_ms == expected_ms
