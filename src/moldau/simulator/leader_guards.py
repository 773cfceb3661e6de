"""What a leader must not do with its followers: each mutant breaks one rule of replication."""

from typing import Final

from moldau.simulator.mutations import Edit, Mutant

_STATE: Final = "tests/replica/test_leader_state.py"
_LEADER: Final = "tests/broker/test_leadership.py"
_WHOLE: Final = "tests/simulator/test_leader_scenarios.py"

LEADER_GUARDS: Final = (
    Mutant(
        "high watermark is the leader's end",
        Edit(
            "replica/leader_state.py",
            "                lowest = follower.log_end_offset\n",
            "                pass\n",
        ),
        scenario=f"{_LEADER}::"
        "test_a_batch_is_acknowledged_when_every_replica_in_sync_has_fetched_past_it",
    ),
    Mutant(
        "high watermark from the committed ISR",
        Edit(
            "replica/leader_state.py",
            "follower.broker_id in self.maximal_isr\n",
            "follower.broker_id in self.isr\n",
        ),
        scenario=f"{_STATE}::test_a_replica_counts_from_the_moment_the_leader_asks_to_add_it",
    ),
    Mutant(
        "a removed replica counts no more before it is confirmed",
        Edit(
            "replica/leader_state.py",
            "        # Those that lag count until they are removed: the controller may refuse.\n",
            "        self.maximal_isr = isr\n",
        ),
        scenario=f"{_STATE}::test_a_replica_counts_until_the_controller_confirms_its_removal",
    ),
    Mutant(
        "high watermark moves under min ISR",
        Edit(
            "broker/leadership.py",
            "        if partition.is_under_min_isr:\n",
            "        if False:\n",
        ),
        scenario=f"{_LEADER}::test_the_high_watermark_stands_still_while_too_few_are_in_sync",
    ),
    Mutant(
        "acknowledged before the high watermark",
        Edit(
            "broker/partition.py",
            "        if offset <= self.log.high_watermark:\n            return None\n",
            "        if offset <= self.log.log_end_offset:\n            return None\n",
        ),
        scenario="tests/broker/test_commitment.py::"
        "test_a_batch_is_acknowledged_when_the_high_watermark_has_passed_it",
    ),
    Mutant(
        "retention deletes above the high watermark",
        Edit(
            "storage/log/log_retention.py",
            "is_empty_end or state.high_watermark < end_offset or not rule",
            "is_empty_end or not rule",
        ),
        scenario="tests/storage/log/test_log_retention.py::"
        "test_nothing_above_the_high_watermark_is_old",
    ),
    Mutant(
        "12686: an answer ends the change after its own",
        Edit(
            "replica/leader_state.py",
            "        if change is not self.pending:\n            return False\n        if answer",
            "        if answer",
        ),
        scenario=f"{_STATE}::test_12686_a_late_answer_does_not_end_the_change_after_it",
    ),
    Mutant(
        "15221: a restarted follower joins with an old fetch",
        Edit(
            "replica/leader_state.py",
            "        return follower.broker_epoch in (NO_BROKER_EPOCH, broker.epoch)\n",
            "        return True\n",
        ),
        scenario=f"{_STATE}::"
        "test_15221_a_fetch_of_an_earlier_incarnation_does_not_let_the_next_one_join",
    ),
    Mutant(
        "966: only members of the ISR are elected",
        Edit(
            "metadata/image.py",
            "        return self.features.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0\n",
            "        return False\n",
        ),
        scenario=f"{_WHOLE}::test_966_the_last_replica_standing_loses_its_power",
    ),
    Mutant(
        "nobody is removed from an ISR",
        Edit(
            "replica/leader_state.py",
            "        if len(isr) == len(self.isr):\n            return None\n",
            "        if True:\n            return None\n",
        ),
        scenario=f"{_WHOLE}::"
        "test_a_follower_that_cannot_reach_its_leader_is_removed_and_joins_again_later",
    ),
)
