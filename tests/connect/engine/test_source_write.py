"""The writing task of a source, when Spark runs it a second time."""

from types import SimpleNamespace
from typing import Any

import pyspark
import pytest

from moldau.client.transactions import TransactionIdentity
from moldau.connect.engine.clients import write_options
from moldau.connect.engine.source_write import InTransaction, WriteReport, write_task
from moldau.connect.engine_api import ConnectorSpec

WORKER = {"bootstrap.servers": "127.0.0.1:1"}


def test_a_task_that_runs_again_in_a_transaction_asks_for_a_new_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The executor of the first attempt died, and may have written: that is nobody's fault."""
    context: Any = SimpleNamespace(get=lambda: SimpleNamespace(attemptNumber=lambda: 1))
    monkeypatch.setattr(pyspark, "TaskContext", context)
    options = write_options(ConnectorSpec("c", {}, WORKER))
    transaction = InTransaction(TransactionIdentity("workers-c-0"), "c", "offsets")
    [reported] = write_task(iter(()), options, transaction, is_tolerant=False)
    [row] = reported.to_pylist()
    report = WriteReport(**row)
    assert report.failure is not None
    assert "nothing of the batch is committed" in report.failure
    assert report.is_outage
    assert report.progress == []
