"""Who is in sync, and who knows it: without one of these guards, what was acknowledged can be lost,
or the in-sync replicas are wrong. Each names the simulation that fails then.
"""

from typing import Final

from moldau.simulator.mutations import Edit, Mutant

_LEADER: Final = "replica/leader_state.py"
_CONTROLLER: Final = "controller/alter_partition.py"
_SCENARIOS: Final = "tests/simulator/test_isr_scenarios.py"

ISR_GUARDS: Final = (
    Mutant(
        "7128: a follower joins before the start of the epoch",
        Edit(_LEADER, " or end_offset < self.epoch_start_offset", ""),
        scenario=f"{_SCENARIOS}::"
        "test_7128_a_follower_that_lacks_what_was_committed_does_not_join_a_new_leader",
    ),
    Mutant(
        "partition epoch ignored",
        Edit(
            "broker/partition.py",
            "        if registration.partition_epoch < known or (\n",
            "        if (\n",
        ),
        scenario=f"{_SCENARIOS}::test_12686_metadata_that_is_older_than_an_answer_changes_nothing",
    ),
    Mutant(
        "12686: metadata undoes what is pending",
        Edit(
            "broker/partition.py",
            "leadership is not None and registration.partition_epoch == known\n",
            "False\n",
        ),
        scenario=f"{_SCENARIOS}::"
        "test_12686_metadata_does_not_undo_what_the_leader_has_asked_for_since",
    ),
    Mutant(
        "13091: the high watermark stays when a shrink is answered",
        Edit(
            "broker/leadership.py",
            "        now_ms = self._led.now_ms()\n        self.advance(now_ms)\n"
            "        log_end_offset =",
            "        now_ms = self._led.now_ms()\n        log_end_offset =",
        ),
        scenario=f"{_SCENARIOS}::"
        "test_13091_the_answer_that_one_has_left_the_isr_acknowledges_what_it_lacks",
    ),
    Mutant(
        "13091: the high watermark stays when a shrink is in the metadata",
        Edit(
            "broker/partition.py",
            "                self._on_local_end()\n                if not was_leader:\n",
            "                if not was_leader:\n                    self._on_local_end()\n",
        ),
        scenario=f"{_SCENARIOS}::"
        "test_13091_metadata_in_which_one_has_left_the_isr_acknowledges_what_it_lacks",
    ),
    Mutant(
        "13916: a fenced replica joins",
        Edit(_LEADER, "broker is None or not broker.is_active", "broker is None"),
        scenario=f"{_SCENARIOS}::test_13916_a_follower_that_is_fenced_is_not_asked_for",
    ),
    Mutant(
        "13916: the controller adds a fenced replica",
        Edit(_CONTROLLER, "broker is None or not broker.is_active", "broker is None"),
        scenario=f"{_SCENARIOS}::"
        "test_13916_the_controller_does_not_add_a_follower_that_it_has_fenced",
    ),
    Mutant(
        "13916: a stopping replica joins",
        Edit(_LEADER, "broker is None or not broker.is_active", "broker is None or broker.fenced"),
        scenario=f"{_SCENARIOS}::test_13916_a_follower_that_is_stopping_is_not_asked_for",
    ),
    Mutant(
        "13916: the controller adds a stopping replica",
        Edit(
            _CONTROLLER,
            "broker is None or not broker.is_active",
            "broker is None or broker.fenced",
        ),
        scenario=f"{_SCENARIOS}::"
        "test_13916_the_controller_does_not_add_a_follower_that_is_stopping",
    ),
    Mutant(
        "14154: a stale controller is believed",
        Edit(_LEADER, "        return code not in _AWAITING_METADATA\n", "        return False\n"),
        scenario=f"{_SCENARIOS}::"
        "test_14154_a_change_that_a_stale_controller_refuses_is_asked_for_again",
    ),
    Mutant(
        "14154: a controller does not notice that the leader knows more",
        Edit(
            _CONTROLLER,
            "        return ErrorCode.NOT_CONTROLLER\n",
            "        pass\n",
        ),
        scenario=f"{_SCENARIOS}::"
        "test_14154_a_change_that_a_stale_controller_refuses_is_asked_for_again",
    ),
    Mutant(
        "15221: an old fetch of a restarted follower counts",
        Edit(
            "broker/leadership.py",
            "broker is not None and broker.epoch > broker_epoch",
            "False",
        ),
        scenario=f"{_SCENARIOS}::"
        "test_15221_a_fetch_that_a_restarted_follower_sent_before_says_nothing",
    ),
    Mutant(
        "15221: the controller adds a follower that has restarted",
        Edit(
            _CONTROLLER,
            "    return replica.broker_epoch in (_ANY_EPOCH, broker.epoch)\n",
            "    return True\n",
        ),
        scenario=f"{_SCENARIOS}::"
        "test_15221_the_controller_does_not_add_a_follower_that_has_restarted_since",
    ),
)
