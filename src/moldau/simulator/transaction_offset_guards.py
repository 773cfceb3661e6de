"""The guards of offsets that are pending in a transaction: without one of them, an offset is lost,
or there again. Each names the scenario that fails then.
"""

from typing import Final

from moldau.simulator.mutations import Edit, Mutant

_OFFSETS: Final = "tests/simulator/test_transaction_offsets.py"
_PENDING: Final = "tests/group_coordinator/test_pending_offsets.py"

TRANSACTION_OFFSET_GUARDS: Final = (
    Mutant(
        "a pending offset outlives its tombstone",
        Edit(
            "group_coordinator/offsets.py",
            "            if producers is not None:\n",
            "            if False:\n",
        ),
        scenario=f"{_OFFSETS}::test_the_tombstone_of_an_offset_drops_what_is_pending_for_it",
    ),
    Mutant(
        "a pending offset that is loaded outlives its tombstone",
        Edit(
            "broker/group_loading.py",
            "        for transaction in self._open_transactions.values():\n"
            "            transaction.pop(key, None)\n",
            "",
        ),
        scenario=f"{_OFFSETS}::test_the_tombstone_of_an_offset_drops_what_is_pending_for_it",
    ),
    Mutant(
        "19163: a group that has only pending offsets expires",
        Edit(
            "group_coordinator/shard.py",
            "        is_free = not self._offsets.has_open_transactions(group_id)\n",
            "        is_free = True\n",
        ),
        scenario=f"{_OFFSETS}::test_19163_a_group_that_has_only_pending_offsets_does_not_expire",
    ),
    Mutant(
        "19163: an offset that a transaction may replace expires",
        Edit(
            "group_coordinator/shard.py",
            "                or self._offsets.is_unstable(group_id, topic, partition)\n",
            "",
        ),
        scenario=f"{_OFFSETS}::test_19163_a_group_that_has_only_pending_offsets_does_not_expire",
    ),
    Mutant(
        "an offset is read while its transaction is settled",
        Edit(
            "group_coordinator/offsets.py",
            "        if self._ended:\n"
            "            self._settle_target(group_id, topic)\n"
            "        committed = ",
            "        committed = ",
        ),
        scenario=f"{_PENDING}::"
        "test_between_the_steps_of_settling_a_transaction_has_ended_as_a_whole",
    ),
    Mutant(
        "an offset is unstable until its transaction is settled",
        Edit(
            "group_coordinator/offsets.py",
            "        if self._ended:\n"
            "            self._settle_target(group_id, topic)\n"
            "        return bool(",
            "        return bool(",
        ),
        scenario=f"{_PENDING}::test_right_after_its_marker_a_transaction_has_ended_as_a_whole",
    ),
    Mutant(
        "a tombstone leaves what is not settled",
        Edit(
            "group_coordinator/offsets.py",
            "            self._settle_target(key.group, key.topic)\n",
            "            pass\n",
        ),
        scenario=f"{_PENDING}::"
        "test_an_offset_that_is_deleted_right_after_the_marker_does_not_come_back",
    ),
    Mutant(
        "13288: who writes to the offsets of groups is not described",
        Edit(
            "broker/handlers/records.py",
            "            problem = topic_name_problem(topic)\n"
            "            if problem is not None:\n"
            "                raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)\n"
            "            # Any replica",
            "            problem = topic_name_problem(topic)\n"
            '            if problem is not None or topic.startswith("__"):\n'
            "                raise ApiError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)\n"
            "            # Any replica",
        ),
        scenario="tests/broker/test_transactional_writes.py::"
        "test_13288_a_transaction_that_hangs_in_the_offsets_of_a_group_is_described",
    ),
)
