"""What a follower must not do with the answers of its leader: each mutant breaks one rule."""

from typing import Final

from moldau.simulator.mutations import Edit, Mutant

_STATE: Final = "tests/replica/test_follower_state.py"
_FOLLOWED: Final = "tests/replica/test_followed_partitions.py"
_FETCHER: Final = "tests/broker/test_replica_fetcher.py"
_FOLLOWING: Final = "tests/broker/test_following.py"
_TRUNCATION: Final = "tests/storage/log/test_log_truncation.py"

FOLLOWER_GUARDS: Final = (
    Mutant(
        "6361: truncate by the offset of the leader alone",
        Edit(
            "replica/follower_state.py",
            "    return min(end_offset, diverging.end_offset, log_end_offset)\n",
            "    return min(diverging.end_offset, log_end_offset)\n",
        ),
        scenario=f"{_STATE}::"
        "test_the_log_is_truncated_where_the_epoch_ends_in_the_shorter_of_the_two_logs",
    ),
    Mutant(
        "18991: an answer of an old leader epoch counts",
        Edit(
            "replica/follower_state.py",
            "            or asked.leader_epoch != self.leader_epoch\n",
            "",
        ),
        scenario=f"{_STATE}::test_an_answer_of_an_earlier_leader_is_ignored",
    ),
    Mutant(
        "13207: an answer for a partition that nobody asked for counts",
        Edit(
            "replica/followed_partitions.py",
            "                if state is not None and asked is not None:\n",
            "                asked = asked or (state and state.asking)\n"
            "                if state is not None and asked is not None:\n",
        ),
        scenario=f"{_FOLLOWED}::test_answers_for_partitions_that_nobody_asked_for_are_ignored",
    ),
    Mutant(
        "13141, 14704: a diverging answer is progress",
        Edit(
            "replica/follower_state.py",
            "return Step.TRUNCATE if is_diverging(answer) else Step.APPEND\n",
            "return Step.APPEND\n",
        ),
        scenario=f"{_FETCHER}::"
        "test_a_diverging_log_is_truncated_and_the_high_watermark_waits_for_it",
    ),
    Mutant(
        "follower appends newer-epoch batches",
        Edit(
            "broker/partition.py",
            "self.log.append_as_follower(records, leader_epoch, can_wait=True)\n",
            "self.log.append_as_follower(records, None, can_wait=True)\n",
        ),
        scenario=f"{_FETCHER}::test_batches_of_a_later_epoch_than_the_one_asked_in_are_left_out",
    ),
    Mutant(
        "a former leader changes the log",
        Edit(
            "broker/partition.py",
            "        if leader_epoch != self.leader_epoch:\n            raise ApiError(\n",
            "        if False:\n            raise ApiError(\n",
        ),
        scenario=f"{_FOLLOWING}::test_only_the_current_leader_changes_the_log_of_a_follower",
    ),
    Mutant(
        "7415: the empty epoch of a leader is unknown",
        Edit(
            "broker/partition.py",
            "return leader_epoch if latest == NO_EPOCH else latest, log.log_end_offset\n",
            "return latest, log.log_end_offset\n",
        ),
        scenario=f"{_FOLLOWING}::"
        "test_epochs_end_where_that_of_a_leader_begins_that_has_written_nothing",
    ),
    Mutant(
        "18723: a truncated segment is written to again",
        Edit("storage/log/segment.py", "            self.is_cut = self.is_full = True\n", ""),
        scenario=f"{_TRUNCATION}::"
        "test_a_region_that_is_being_sent_never_shows_the_batches_that_replaced_its_own",
    ),
    Mutant(
        "12996: nothing is truncated before the log start",
        Edit(
            "storage/log/log_truncation.py",
            "        if offset <= state.segments.first.base_offset:\n",
            "        offset = max(offset, state.segments.first.base_offset)\n"
            "        if offset <= state.segments.first.base_offset:\n",
        ),
        scenario=f"{_FETCHER}::test_a_log_that_diverges_before_its_start_is_emptied",
    ),
    Mutant(
        "9491: the high watermark is not in the log after a full truncation",
        Edit(
            "storage/log/log_truncation.py",
            "            state.log_start_offset = log_start_offset\n"
            "            state.update_high_watermark(offset)\n",
            "            state.log_start_offset = log_start_offset\n",
        ),
        scenario=f"{_FETCHER}::test_a_log_that_ends_before_the_leaders_begins_starts_anew",
    ),
    Mutant(
        "dedup state not rebuilt after truncation",
        Edit(
            "storage/log/log_truncation.py",
            "                rebuild_producer_state(\n"
            "                    state.producers, state.segments, "
            "state.log_start_offset, offset, wall_ms\n"
            "                )\n",
            "                pass\n",
        ),
        scenario=f"{_FOLLOWING}::test_an_elected_follower_knows_its_producers_and_its_epochs",
    ),
    Mutant(
        "flush.messages: acknowledged before it is on the device of the follower",
        Edit(
            "broker/replica_fetcher.py",
            '"""Do not go on: that would acknowledge what is not on the device yet."""\n'
            "        self._followed.hold(state, Phase.FLUSHING)\n",
            "",
        ),
        Edit(
            "broker/replica_fetcher.py",
            "                    self._followed.hold(state, Phase.FLUSHING)\n",
            "",
        ),
        scenario=f"{_FETCHER}::test_what_must_be_on_the_device_is_acknowledged_when_it_is",
    ),
    Mutant(
        "flush.messages: acknowledged to a new leader before it is on the device",
        Edit(
            "broker/replica_fetcher.py",
            "        if partition.is_flushing:\n"
            "            self._flush_first(partition, state)\n"
            "        self._wake()\n",
            "        self._wake()\n",
        ),
        scenario=f"{_FETCHER}::test_a_new_leader_does_not_learn_what_is_not_on_the_device_yet",
    ),
)
