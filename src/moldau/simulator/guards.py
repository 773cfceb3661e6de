"""The guards of named scenarios: without one of them, its scenario fails.

A scenario is something that went wrong in Apache Kafka once, under the number of its issue there.
"""

from typing import Final

from moldau.simulator.mutations import Edit, Mutant

_RAFT: Final = "tests/raft/test_scenarios.py"
_WHOLE: Final = "tests/simulator/test_scenarios.py"
_BROKERS: Final = "tests/simulator/test_broker_scenarios.py"
_SNAPSHOTS: Final = "tests/simulator/test_snapshot_scenarios.py"
_PUBLISHER: Final = "tests/broker/test_metadata_publisher.py"

GUARDS: Final = (
    Mutant(
        "10527: a restarted leader goes on in its epoch",
        Edit(
            "raft/quorum.py",
            "            role = Resigned(others, (), election_ms)\n",
            "            role = Candidate(Votes(self.voters, node_id), election_ms)\n",
        ),
        scenario=f"{_RAFT}::test_10527_a_restarted_leader_does_not_lead_its_epoch_again",
    ),
    Mutant(
        "12460: the committed part of a log is truncated",
        Edit("raft/following.py", "        assert offset >= lowest, (", "        assert True, ("),
        scenario=f"{_RAFT}::"
        "test_12460_what_is_committed_is_not_truncated_for_a_majority_that_lost_its_disks",
    ),
    Mutant(
        "15489: a leader that is cut off leads on",
        Edit("raft/leader.py", "FOREVER_MS if self._is_alone else self._check_ms", "FOREVER_MS"),
        scenario=f"{_RAFT}::test_15489_a_leader_that_is_cut_off_resigns_and_the_others_go_on",
    ),
    Mutant(
        "18345: all voters wait equally long before they stand",
        Edit(
            "raft/quorum.py",
            "return timeout_ms + self._rng.randrange(timeout_ms) if timeout_ms > 0 else 0",
            "return timeout_ms",
        ),
        scenario=f"{_RAFT}::test_18345_voters_that_are_alike_do_not_split_their_votes_for_ever",
    ),
    Mutant(
        "18345: a node that was cut off raises the epoch",
        Edit(
            "raft/quorum.py",
            "        if votes.is_won:\n            self.to_c",
            "        if True:\n            self.to_c",
        ),
        scenario=f"{_RAFT}::test_18345_a_node_that_was_cut_off_does_not_disturb_the_leader",
    ),
    Mutant(
        "17608: a leader that removed itself leads on",
        Edit(
            "raft/voter_changes.py",
            "            leader.is_resigning = True\n",
            "            pass\n",
        ),
        scenario=f"{_RAFT}::test_17608_a_leader_removes_itself_and_becomes_an_observer",
    ),
    Mutant(
        "16530: a removed leader counts its own log",
        Edit(
            "raft/leader.py",
            "sorted((voter.end_offset for voter in self.voters.values()), reverse=True)",
            "sorted((each.end_offset for each in "
            "{**self.voters, self._key.id: self.replica(self._key)}.values()), reverse=True)",
        ),
        scenario=f"{_RAFT}::test_16530_a_leader_that_removes_itself_does_not_count_its_own_log",
    ),
    Mutant(
        "16531: a removed leader counts itself among those who fetch",
        Edit(
            "raft/leader.py",
            "        if self._key.id in self.voters:\n            needed -= 1\n",
            "        needed -= 1\n",
        ),
        scenario=f"{_RAFT}::test_16531_a_removed_leader_needs_a_majority_of_those_who_stay",
    ),
    Mutant(
        "17030: only voters are asked for the leader",
        Edit(
            "raft/node.py",
            "            return min(next_ms, self._following.poll_bootstrap(now_ms))\n",
            "            return next_ms\n",
        ),
        scenario=f"{_RAFT}::test_17030_a_node_that_nobody_knows_finds_the_leader",
    ),
    Mutant(
        "15345: a controller is active before its epoch is replayed",
        Edit(
            "broker/controller_runtime.py",
            "if is_due and self._publisher.offset >= raft.epoch_start_offset:",
            "if is_due:",
        ),
        scenario=f"{_WHOLE}::"
        "test_15345_a_controller_is_active_when_everything_before_its_epoch_is_replayed",
    ),
    Mutant(
        "13104: a controller that cannot write keeps the quorum",
        Edit("broker/controller_term.py", "            raft.resign(self.epoch)\n", ""),
        scenario=f"{_WHOLE}::test_13104_a_controller_that_cannot_write_hands_over_the_quorum",
    ),
    Mutant(
        "18138: a new controller does not count sessions",
        Edit(
            "controller/sessions.py",
            "            if not broker.fenced:\n",
            "            if False:\n",
        ),
        scenario=f"{_BROKERS}::test_18138_a_broker_that_dies_during_a_failover_is_fenced",
    ),
    Mutant(
        "15019: a controller that hung counts the time against brokers",
        Edit(
            "controller/sessions.py",
            "        if late_ms > self._look_interval_ms:\n",
            "        if False:\n",
        ),
        scenario=f"{_BROKERS}::"
        "test_15019_a_controller_that_hung_does_not_fence_those_who_sent_heartbeats",
    ),
    Mutant(
        "15019: heartbeats count when they are decided",
        Edit(
            "controller/sessions.py",
            "        if late_ms > self._look_interval_ms:\n",
            "        if False:\n",
        ),
        Edit(
            "broker/controller_runtime.py",
            "            self.controller.heard(request, arrived_ms)\n",
            "            pass\n",
        ),
        scenario=f"{_BROKERS}::test_15019_a_controller_with_a_long_decision_does_not_fence_anybody",
    ),
    Mutant(
        "19294: heartbeats wait for a controller that is gone",
        Edit(
            "broker/node_to_controller.py",
            "        if node is not None and not self._is_connected_to(node):\n"
            "            self._disconnect()\n",
            "",
        ),
        Edit(
            "broker/cluster_metadata.py",
            "self._new_channel(config.broker_session_timeout_ms)",
            "self._new_channel(RETRY_TIMEOUT_MS)",
        ),
        scenario=f"{_BROKERS}::test_19294_nobody_waits_for_a_controller_that_is_gone",
    ),
    Mutant(
        "16952: a repeated registration gets another epoch",
        Edit(
            "controller/registration.py",
            "        epoch, fenced = existing.epoch, existing.fenced\n",
            "        fenced = existing.fenced\n",
        ),
        scenario=f"{_BROKERS}::test_16952_a_broker_that_registers_twice_keeps_its_epoch",
    ),
    Mutant(
        "15950: heartbeats overlap",
        Edit(
            "broker/broker_lifecycle.py",
            "                    await self._register_directories()\n"
            "                await self._beat()\n",
            "                    await self._register_directories()\n"
            "                asyncio.get_running_loop().create_task(self._beat())\n",
        ),
        scenario=f"{_BROKERS}::test_15950_a_broker_sends_one_heartbeat_at_a_time",
    ),
    Mutant(
        "13959: a broker is unfenced at the end of the log only",
        Edit(
            "controller/heartbeats.py",
            "request.current_metadata_offset >= state.registration_offset(broker.id)",
            "request.current_metadata_offset >= state.image.offset",
        ),
        scenario=f"{_BROKERS}::test_13959_a_broker_is_unfenced_while_the_log_grows",
    ),
    Mutant(
        "15441: a transaction is left open",
        Edit(
            "broker/controller_term.py",
            "if self.controller.state.transaction_offset >= 0 and not is_abort:",
            "if False:",
        ),
        scenario=f"{_BROKERS}::test_15441_a_broker_is_unfenced_after_half_a_transaction",
    ),
    Mutant(
        "14616: a log is known by its name alone",
        Edit(
            "broker/replica_manager.py",
            "        if topic is None or topic_id not in (NO_UUID, topic.id):\n"
            "            return True\n",
            "        if topic is None:\n            return True\n",
        ),
        Edit(
            "storage/log_manager.py",
            "        elif topic_id not in (NO_UUID, log.topic_id):\n",
            "        elif False:\n",
        ),
        scenario=f"{_BROKERS}::"
        "test_14616_a_topic_that_was_recreated_while_its_broker_was_down_is_empty",
    ),
    Mutant(
        "15312: a snapshot is renamed before it is flushed",
        Edit(
            "broker/quorum_snapshots.py",
            "write_atomically(self._path(snapshot), data)",
            "write_atomically(self._path(snapshot), data, sync=False)",
        ),
        scenario=f"{_SNAPSHOTS}::test_15312_a_snapshot_has_its_name_only_when_it_is_on_the_device",
    ),
    Mutant(
        "15312: a fetched snapshot is renamed before it is flushed",
        Edit("broker/quorum_snapshots.py", "        self._fetching.fsync()\n", ""),
        scenario=f"{_SNAPSHOTS}::"
        "test_15312_a_fetched_snapshot_has_its_name_only_when_it_is_on_the_device",
    ),
    Mutant(
        "14238: the log is deleted past the newest snapshot",
        Edit(
            "broker/quorum_snapshots.py",
            "                log.delete_records_before(second.end_offset)\n",
            "                log.delete_records_before(log.high_watermark)\n",
        ),
        scenario=f"{_SNAPSHOTS}::test_14238_the_log_is_not_deleted_past_the_newest_snapshot",
    ),
    Mutant(
        "14618: a snapshot ends one record early",
        Edit(
            "broker/quorum_snapshots.py",
            "snapshot = SnapshotId(image.offset + 1, image.epoch)",
            "snapshot = SnapshotId(image.offset, image.epoch)",
        ),
        scenario=f"{_SNAPSHOTS}::test_14618_a_snapshot_ends_where_a_batch_ends",
    ),
    Mutant(
        "14619: a snapshot ends inside a batch",
        Edit(
            "broker/quorum_store.py",
            "        history = self.history\n        self.snapshots.write(\n",
            "        history = self.history\n"
            "        last = [each for each, _ in self.batches(image.offset, image.offset + 1)][0]\n"
            "        image = image._replace(offset=(last.base_offset + image.offset) // 2)\n"
            "        self.snapshots.write(\n",
        ),
        scenario=f"{_SNAPSHOTS}::test_14618_a_snapshot_ends_where_a_batch_ends",
    ),
    Mutant(
        "a snapshot is taken inside a metadata transaction",
        Edit(
            "broker/metadata_publisher.py",
            "        self.transaction_offset = loader.transaction_offset\n"
            "        self._publish(image, delta, end_offset)\n",
            "        self._publish(image, delta, end_offset)\n",
        ),
        scenario=f"{_PUBLISHER}::"
        "test_a_snapshot_during_a_replay_does_not_lose_the_beginning_of_a_transaction",
    ),
)
