"""The guards of what transactional producers write: without one of them, a batch is refused, or its
producer is forgotten too early. Each names the test that fails then.
"""

from typing import Final

from moldau.simulator.mutations import Edit, Mutant

TRANSACTION_WRITE_GUARDS: Final = (
    Mutant(
        "9144: a marker does not keep its producer alive",
        Edit(
            "storage/log/producer_state.py",
            "        entry.last_timestamp = timestamp\n        entry.txn_first_offset",
            "        entry.txn_first_offset",
        ),
        scenario="tests/storage/log/test_transactions.py::"
        "test_9144_a_marker_keeps_its_producer_alive",
    ),
    Mutant(
        "14916: a plain batch under a transactional id needs a transaction",
        Edit(
            "broker/handlers/transactional_produce.py",
            "        if not records[ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_FLAG:\n",
            "        if False:\n",
        ),
        scenario="tests/broker/test_transactional_writes.py::"
        "test_14916_a_plain_batch_under_a_transactional_id_needs_no_transaction",
    ),
)
