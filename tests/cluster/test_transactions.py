"""The judge of transactions catches every kind of wrong copy."""

from tests.cluster.transactions import Fate, Written, violations

TRANSACTIONS = [
    Written(Fate.COMMITTED, {0: ["1.1", "1.2"], 1: ["1.3"]}),
    Written(Fate.ABORTED, {0: ["1.4"]}),
    Written(Fate.UNKNOWN, {0: ["1.5"], 1: ["1.6"]}),
    Written(Fate.COMMITTED, {1: ["1.7"]}),
]


def test_a_transaction_of_unknown_fate_may_be_there_or_not() -> None:
    assert violations(TRANSACTIONS, {0: ["1.1", "2.1", "1.2"], 1: ["1.3", "1.7"]}) == []
    assert violations(TRANSACTIONS, {0: ["1.1", "1.2", "1.5"], 1: ["1.3", "1.6", "1.7"]}) == []


def test_what_is_lost_or_torn_or_was_aborted_is_found() -> None:
    lost = violations(TRANSACTIONS, {0: ["1.1", "1.2"], 1: ["1.3"]})
    torn = violations(TRANSACTIONS, {0: ["1.1", "1.2", "1.5"], 1: ["1.3", "1.7"]})
    aborted = violations(TRANSACTIONS, {0: ["1.1", "1.2", "1.4"], 1: ["1.3", "1.7"]})

    assert lost == ["lost: ['1.7']"]
    assert torn == ["torn: of ['1.5', '1.6'] only ['1.5'] can be read (unknown)"]
    assert aborted == ["aborted, but read: ['1.4']"]


def test_what_is_there_twice_or_out_of_order_is_found() -> None:
    twice = violations(TRANSACTIONS, {0: ["1.1", "1.1", "1.2"], 1: ["1.3", "1.7"]})
    swapped = violations(TRANSACTIONS, {0: ["1.1", "1.2"], 1: ["1.7", "1.3"]})

    assert twice == ["partition 0 has 1.1 instead of 1.2 as record 1"]
    assert swapped == ["partition 1 has 1.7 instead of 1.3 as record 0"]
