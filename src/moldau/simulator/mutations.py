"""The bugs that simulations must find: each breaks one promise of the sources.

A mutant is caught by the seeds of the swarm. What needs a rare coincidence, or is the guard of a
named scenario, names the test that must fail instead.
"""

from typing import Final, NamedTuple


class Edit(NamedTuple):
    """In ``file``, ``old`` is replaced by ``new``; ``old`` must be there once."""

    file: str
    old: str
    new: str


class Mutant:
    """A promise that is broken by some edits."""

    def __init__(self, name: str, *edits: Edit, scenario: str = "") -> None:
        """``scenario`` is the test that catches it, as pytest names it; else seeds do."""
        self.name = name
        self.edits = edits
        self.scenario = scenario


MUTANTS: Final = (
    Mutant(
        "wall clock used for a session",
        Edit(
            "broker/hosted_shard.py",
            "Now(clock.wall_ms(), clock.monotonic_ms())",
            "Now(clock.wall_ms(), clock.wall_ms())",
        ),
        Edit(
            "broker/hosted_shard.py",
            "DeadlineTimer(clock, self._on_timer)",
            'DeadlineTimer(type("", (), {"monotonic_ms": clock.wall_ms}), self._on_timer)',
        ),
    ),
    Mutant(
        "sessions never expire",
        Edit(
            "group_coordinator/consumer/upkeep.py",
            "self._timers.pop_due(now.monotonic_ms)",
            "self._timers.pop_due(0)",
        ),
    ),
    Mutant(
        "quorum-state not flushed",
        Edit(
            "broker/quorum_store.py",
            "write_atomically(os.path.join(self.directory, QUORUM_STATE), data)",
            "write_atomically(os.path.join(self.directory, QUORUM_STATE), data, sync=False)",
        ),
    ),
    Mutant(
        "vote twice in an epoch",
        Edit("raft/roles.py", "    if state.voted_id != NO_NODE:\n", "    if False:\n"),
    ),
    Mutant(
        "vote for a shorter log",
        Edit(
            "raft/elections.py",
            "is_up_to_date = end >= log_end(quorum.log)",
            "is_up_to_date = True",
        ),
        scenario="tests/raft/test_scenarios.py::test_a_voter_with_a_shorter_log_is_not_elected",
    ),
    Mutant(
        "an entry of an old epoch committed by count",
        Edit(
            "raft/leader.py",
            "replicated <= self.epoch_start_offset or replicated <= self.high_watermark",
            "replicated <= self.high_watermark",
        ),
        scenario="tests/raft/test_scenarios.py::"
        "test_12619_a_new_leader_commits_nothing_before_a_record_of_its_epoch",
    ),
    Mutant(
        "an unflushed voter counted",
        Edit(
            "raft/following.py",
            "            return quorum.is_on_disk\n",
            "            return quorum.installing is None and not quorum.is_log_changing\n",
        ),
        scenario="tests/raft/test_scenarios.py::test_a_voter_counts_only_with_what_is_on_its_disk",
    ),
    Mutant(
        "new voters counted only after commit",
        Edit(
            "raft/leading.py",
            "        if has_new_voters and leader.change_voters(self._quorum.voters, now_ms):\n"
            "            self._advanced(leader, now_ms)\n",
            "",
        ),
        Edit(
            "raft/leading.py",
            "        self._changes.on_committed(leader)\n",
            "        leader.change_voters(self._quorum.voters, now_ms)\n"
            "        self._changes.on_committed(leader)\n",
        ),
        scenario="tests/raft/test_scenarios.py::"
        "test_new_voters_count_before_their_record_is_committed",
    ),
    Mutant(
        "no pre-vote",
        Edit(
            "raft/quorum.py",
            "        if votes.is_won:\n            self.to_c",
            "        if True:\n            self.to_c",
        ),
    ),
    Mutant(
        "no check-quorum",
        Edit("raft/leader.py", "FOREVER_MS if self._is_alone else self._check_ms", "FOREVER_MS"),
    ),
    Mutant(
        "truncation below the high watermark",
        Edit(
            "raft/following.py",
            "offset = truncation_offset(quorum.log, diverging)",
            "offset = min(truncation_offset(quorum.log, diverging), quorum.high_watermark - 1)",
        ),
        Edit("raft/following.py", "        assert offset >= lowest, (", "        assert True, ("),
    ),
    Mutant(
        "snapshot not flushed",
        Edit(
            "broker/quorum_snapshots.py",
            "write_atomically(self._path(snapshot), data)",
            "write_atomically(self._path(snapshot), data, sync=False)",
        ),
    ),
    Mutant(
        "log deleted before its snapshot",
        Edit(
            "broker/quorum_store.py",
            "        self.snapshots.write(\n",
            "        self.log.delete_records_before(image.offset + 1)\n"
            "        self.snapshots.write(\n",
        ),
    ),
    Mutant(
        "uncommitted decisions kept after resigning",
        Edit(
            "broker/metadata_publisher.py",
            "        latest = self.latest\n        self._own = None\n",
            "        latest = self.image = self._own[-1].image if self._own else self.latest\n"
            "        self._own = None\n",
        ),
        scenario="tests/simulator/test_broker_scenarios.py::"
        "test_what_is_not_committed_is_forgotten_by_a_controller_that_resigns",
    ),
    Mutant(
        "broker epoch ignored in heartbeats",
        Edit("controller/state.py", "        if broker.epoch != epoch:\n", "        if False:\n"),
        Edit(
            "controller/sessions.py",
            "        if epoch != broker.epoch:\n            return\n",
            "        epoch = broker.epoch\n",
        ),
        scenario="tests/simulator/test_broker_scenarios.py::"
        "test_a_heartbeat_of_an_earlier_life_does_not_keep_a_broker_alive",
    ),
    Mutant(
        "session not seeded at activation",
        Edit(
            "controller/sessions.py",
            "            if not broker.fenced:\n",
            "            if False:\n",
        ),
    ),
    Mutant(
        "uncommitted metadata published",
        Edit(
            "broker/metadata_publisher.py",
            "        self._own.append(change)\n",
            "        self._own.append(change)\n"
            "        self._high_watermark = max(self._high_watermark, change.image.offset + 1)\n"
            "        self._publish_own(self._own)\n",
        ),
    ),
    Mutant(
        "controller answers before commit",
        Edit(
            "broker/controller_term.py",
            "        if self.decided_offset > self._publisher.offset:\n",
            "        if False:\n",
        ),
    ),
    Mutant(
        "producer-id block reused",
        Edit(
            "controller/producer_ids.py",
            "next_producer_id=first + PRODUCER_ID_BLOCK_SIZE",
            "next_producer_id=first",
        ),
    ),
    Mutant(
        "record acknowledged before its flush",
        Edit(
            "broker/handlers/produce.py",
            "        if self.acks == -1:\n",
            "        if False:\n",
        ),
        Edit(
            "broker/handlers/produce.py",
            "        elif info.must_flush:\n",
            "        elif False:\n",
        ),
    ),
    Mutant(
        "record visible before its flush",
        Edit(
            "broker/counted_end.py",
            "log_end_offset if self._flush_from < 0 else self._flush_from\n",
            "log_end_offset\n",
        ),
    ),
    Mutant(
        "duplicates appended",
        Edit(
            "storage/log/producer_state.py",
            "(header)\n            if duplicate is not None:\n",
            "(header)\n            if False:\n",
        ),
        Edit(
            "storage/log/producer_state.py",
            "(header)\n                if duplicate is not None:\n",
            "(header)\n                if False:\n",
        ),
    ),
    Mutant(
        "damaged records served",
        Edit(
            "storage/log/checked_bytes.py",
            "        if self._from <= start <= self._to:\n",
            "        return end\n        if self._from <= start <= self._to:\n",
        ),
        scenario="tests/simulator/test_faults.py::test_what_is_damaged_is_not_served",
    ),
)
