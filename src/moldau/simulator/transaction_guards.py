"""The guards of transactions: without one of them, something is read that was not committed, or
read in part, or a transaction hangs. Each names the scenario that fails then.
"""

from typing import Final

from moldau.simulator.mutations import Edit, Mutant

_ALONE: Final = "tests/simulator/test_transaction_scenarios.py"
_COMPLETION: Final = "tests/simulator/test_transaction_completion.py"
_CLUSTER: Final = "tests/simulator/test_transaction_failover.py"
_ROTATION: Final = "tests/simulator/test_transaction_rotation.py"
_TERMS: Final = "tests/simulator/test_transaction_terms.py"
_DELETION: Final = "tests/simulator/test_transaction_deletion.py"

TRANSACTION_GUARDS: Final = (
    Mutant(
        "890: no guard: the first batch of a transaction is not verified",
        Edit(
            "broker/transaction_verification.py",
            "        admission = self._begin(writes, is_required)\n",
            "        return Admission(is_required=False)\n",
        ),
        scenario=f"{_ALONE}::"
        "test_890_a_batch_for_a_partition_that_was_never_added_leaves_nothing_open",
    ),
    Mutant(
        "890: a guard outlives the marker of its transaction",
        Edit(
            "storage/log/verification.py",
            "            del self.guards[producer_id]\n\n    def expire",
            "            pass\n\n    def expire",
        ),
        scenario=f"{_CLUSTER}::"
        "test_a_batch_whose_verification_is_overtaken_by_the_end_is_not_written",
    ),
    Mutant(
        "890: no bump: the epoch stays when a transaction ends",
        Edit(
            "transaction_coordinator/transitions.py",
            "MAX_PRODUCER_EPOCH)\n        last_producer_epoch = transaction.producer_epoch\n",
            "transaction.producer_epoch)\n        last_producer_epoch = -1\n",
        ),
        scenario=f"{_ALONE}::test_890_a_late_batch_is_not_written_into_the_next_transaction",
    ),
    Mutant(
        "17754: a delayed end counts for the next transaction",
        Edit(
            "transaction_coordinator/end_txn.py",
            "    if not is_current and not (is_repeated and transaction.status in _COMPLETE):\n",
            "    if not is_current and not is_repeated:\n",
        ),
        scenario=f"{_ALONE}::test_17754_a_delayed_end_does_not_decide_the_next_transaction",
    ),
    Mutant(
        "18464: who aborts nothing is not told of the next epoch",
        Edit(
            "transaction_coordinator/shard.py",
            "        if bumps_epoch:\n            response.producer_id",
            "        if bumps_epoch and transaction.partitions:\n            response.producer_id",
        ),
        scenario=f"{_ALONE}::test_18464_the_abort_of_nothing_does_not_fence_its_producer",
    ),
    Mutant(
        "18575: a transaction begins before the last one is complete",
        Edit(
            "transaction_coordinator/end_txn.py",
            "    if transaction.status in PREPARED:\n",
            "    if False:\n",
        ),
        scenario=f"{_CLUSTER}::test_18575_a_new_transaction_waits_until_the_old_one_is_complete",
    ),
    Mutant(
        "15468: a coordinator is loaded again when the ISR changes",
        Edit(
            "broker/coordinator_runtime.py",
            "            if led.get(index) is hosted.partition and not hosted.is_closed:\n",
            "            if False:\n",
        ),
        scenario=f"{_CLUSTER}::"
        "test_15468_a_follower_that_leaves_the_isr_does_not_interrupt_the_coordinator",
    ),
    Mutant(
        "19367: who takes over an open transaction skips an epoch",
        Edit(
            "transaction_coordinator/init_producer_id.py",
            "        producer_epoch += 1\n",
            "        producer_epoch += 2\n",
        ),
        scenario=f"{_ALONE}::"
        "test_19367_a_second_instance_aborts_what_the_first_has_begun_and_goes_on",
    ),
    Mutant(
        "9666: a fence that could not be written counts",
        Edit(
            "broker/hosted_shard.py",
            "            batch = self._new_batch(transaction)\n            for record",
            "            self._replay(records, transaction)\n"
            "            batch = self._new_batch(transaction)\n            for record",
        ),
        Edit(
            "broker/hosted_shard.py",
            "            self._replay(records, transaction)\n        except ApiError as error:\n"
            "            if transaction is None or partition",
            "        except ApiError as error:\n            if partition",
        ),
        scenario=f"{_ALONE}::"
        "test_9666_a_fence_for_which_there_is_no_room_is_tried_again_without_another_bump",
    ),
    Mutant(
        "19690: a producer whose transaction timed out is told that it is fenced",
        Edit(
            "broker/transaction_verification.py",
            "    if code is ErrorCode.PRODUCER_FENCED:\n",
            "    if False:\n",
        ),
        scenario=f"{_ALONE}::"
        "test_19690_a_producer_whose_transaction_timed_out_gets_invalid_producer_epoch",
    ),
    Mutant(
        "18654: a batch is refused while the last transaction completes",
        Edit(
            "broker/transaction_verification.py",
            "    return writes.support.adds_partitions and ErrorCode.CONCURRENT_TRANSACTIONS in "
            "refused.values()\n",
            "    return False\n",
        ),
        scenario=f"{_COMPLETION}::"
        "test_18654_a_batch_that_comes_while_the_last_transaction_completes_waits_for_that",
    ),
    Mutant(
        "10080: a transaction is complete before its last marker is written",
        Edit(
            "broker/marker_sending.py",
            "        if unfinished.remaining or unfinished.is_over:\n",
            "        if unfinished.is_over:\n",
        ),
        scenario=f"{_COMPLETION}::"
        "test_10080_a_transaction_is_completed_once_however_often_its_markers_are_sent",
    ),
    Mutant(
        "16352: what an earlier term has sent completes the transaction of this one",
        Edit(
            "broker/unfinished_transaction.py",
            "        return self._is_ended or self.hosted.is_closed\n",
            "        return self._is_ended\n",
        ),
        scenario=f"{_TERMS}::"
        "test_16352_the_markers_of_an_earlier_term_do_not_complete_the_next_transaction",
    ),
    Mutant(
        "18137: a coordinator that leads again goes on with what it knew",
        Edit(
            "broker/coordinator_runtime.py",
            "            if led.get(index) is hosted.partition and not hosted.is_closed:\n",
            "            if not hosted.is_closed:\n",
        ),
        scenario=f"{_TERMS}::"
        "test_18137_a_coordinator_that_leads_again_soon_knows_what_happened_meanwhile",
    ),
    Mutant(
        "19999: a marker that is repeated is refused",
        Edit(
            "storage/log/producer_state.py",
            "            is_stale = entry.txn_first_offset >= 0 and epoch != _MAX_INT16\n",
            "            is_stale = True\n",
        ),
        scenario=f"{_TERMS}::"
        "test_19999_a_marker_that_is_there_already_is_accepted_from_the_next_coordinator",
    ),
    Mutant(
        "19999: a marker that waits for a leader is not tried again",
        Edit(
            "broker/marker_sending.py",
            "        elif registration.leader == NO_LEADER:\n"
            "            self._pause(unfinished, topic_partition)\n",
            "        elif registration.leader == NO_LEADER:\n            pass\n",
        ),
        scenario=f"{_COMPLETION}::"
        "test_19999_a_coordinator_that_is_loaded_again_writes_the_markers_that_waited",
    ),
    Mutant(
        "18660: the end with the last epoch is answered with the old id",
        Edit(
            "transaction_coordinator/shard.py",
            "            producer = after_completion(transition.value)\n",
            "            value = transition.value\n"
            "            producer = value.producer_id, value.producer_epoch\n",
        ),
        scenario=f"{_ROTATION}::"
        "test_18660_a_new_id_waits_until_the_last_transaction_of_the_old_one_is_complete",
    ),
    Mutant(
        "18660: the end with the last epoch is unknown when it is repeated",
        Edit(
            "transaction_coordinator/end_txn.py",
            "    is_repeated = is_before_bump or is_before_rotation\n",
            "    is_repeated = is_before_bump\n",
        ),
        scenario=f"{_ROTATION}::"
        "test_18660_the_end_with_the_last_epoch_is_answered_with_the_new_id_also_again",
    ),
    Mutant(
        "18660: the new id is a stranger's while the last transaction completes",
        Edit(
            "transaction_coordinator/add_partitions.py",
            "    if not request.verify_only:\n        check_complete(transaction)\n",
            "",
        ),
        scenario=f"{_ROTATION}::"
        "test_18660_a_new_id_waits_until_the_last_transaction_of_the_old_one_is_complete",
    ),
    Mutant(
        "20090: an abort with the last epoch leaves the id as it is",
        Edit(
            "transaction_coordinator/end_txn.py",
            "        client_transaction_version=transaction_version,\n"
            "        next_producer_id=next_producer_id(transaction, take_producer_id),\n",
            "        client_transaction_version=transaction_version,\n"
            "        next_producer_id=NO_PRODUCER_ID,\n",
        ),
        scenario=f"{_ROTATION}::"
        "test_20090_a_late_abort_of_what_timed_out_with_the_last_epoch_gets_the_new_id",
    ),
    Mutant(
        "20090: no epoch is the last one",
        Edit(
            "transaction_coordinator/transaction.py",
            "    return producer_epoch >= MAX_PRODUCER_EPOCH - 1\n",
            "    return False\n",
        ),
        scenario=f"{_ROTATION}::"
        "test_20090_who_takes_over_what_timed_out_with_the_last_epoch_gets_a_new_id",
    ),
    Mutant(
        "20310: the next and the previous id are not written",
        Edit(
            "transaction_coordinator/records.py",
            '    return key, version.to_bytes(2, "big") + value.encode(version)\n',
            "    value = _without_previous(value)\n"
            '    return key, version.to_bytes(2, "big") + value.encode(version)\n',
        ),
        scenario=f"{_ROTATION}::"
        "test_20310_another_coordinator_knows_the_next_id_and_the_previous_one",
    ),
    Mutant(
        "markers are written before the decision is durable",
        Edit(
            "broker/marker_sending.py",
            "        commitment = hosted.committed()\n        if commitment is not None:\n",
            "        commitment = hosted.committed()\n        if False:\n",
        ),
        scenario=f"{_CLUSTER}::test_nothing_is_decided_before_its_decision_is_committed",
    ),
    Mutant(
        "the last stable offset is one too high",
        Edit(
            "storage/log/log_state.py",
            "            return max(first, self.log_start_offset)\n",
            "            return max(first, self.log_start_offset) + 1\n",
        ),
        scenario=f"{_ALONE}::test_nothing_of_an_open_transaction_is_read",
    ),
    Mutant(
        "the tombstone of an expired id is ignored",
        Edit(
            "broker/transaction_loading.py",
            "                self._last.pop(record.key, None)\n",
            "                pass\n",
        ),
        scenario=f"{_ALONE}::test_an_id_that_has_expired_stays_forgotten_after_a_restart",
    ),
    Mutant(
        "a marker is retried under a new epoch",
        Edit(
            "broker/unfinished_transaction.py",
            "            prepared.producer_epoch,\n            prepared.is_commit,\n",
            "            prepared.producer_epoch + (self._pauses is not None),\n"
            "            prepared.is_commit,\n",
        ),
        scenario=f"{_CLUSTER}::test_a_marker_waits_for_a_leader_and_is_the_same_when_there_is_one",
    ),
    Mutant(
        "an offset is applied at its marker",
        Edit(
            "broker/group_loading.py",
            "            if committed is None or committed.offset < commit.offset:\n"
            "                offsets[key] = commit\n",
            "            if True:\n                offsets[key] = commit\n",
        ),
        scenario=f"{_ALONE}::"
        "test_the_offset_of_a_later_plain_commit_stays_when_the_transaction_commits",
    ),
    Mutant(
        "a deleted topic holds up the end of its transaction",
        Edit(
            "broker/marker_sending.py",
            "            unfinished.remaining.pop(topic_partition, None)\n"
            "        elif registration.leader",
            "            self._pause(unfinished, topic_partition)\n"
            "        elif registration.leader",
        ),
        scenario=f"{_CLUSTER}::"
        "test_a_topic_that_is_deleted_before_its_marker_does_not_hold_up_its_transaction",
    ),
    Mutant(
        "a coordinator that is elected does not finish what was decided",
        Edit(
            "broker/hosted_shard.py",
            "        self.is_loaded = True\n        if self._carried_out is not None:\n",
            "        self.is_loaded = True\n        if False:\n",
        ),
        scenario=f"{_CLUSTER}::"
        "test_a_new_coordinator_writes_the_markers_that_the_old_one_has_not_written",
    ),
    Mutant(
        "aborted transactions are forgotten with the power",
        Edit("storage/log/segment.py", "        self.txn_index.flush_changes()\n", ""),
        scenario="tests/storage/log/test_segment.py::"
        "test_the_aborted_transactions_of_a_closed_segment_survive_a_power_cut",
    ),
    Mutant(
        "an open transaction is forgotten when its first record is deleted",
        Edit(
            "storage/log/producer_state.py",
            "        self.on_high_watermark(log_start_offset)\n",
            "        self.on_high_watermark(log_start_offset)\n"
            "        self._ongoing = {\n"
            "            each: self._ongoing[each]\n"
            "            for each in self._ongoing\n"
            "            if each >= log_start_offset\n"
            "        }\n",
        ),
        scenario=f"{_DELETION}::test_records_are_deleted_out_of_an_open_transaction",
    ),
    Mutant(
        "the last stable offset stays where a transaction began that retention has cut",
        Edit(
            "storage/log/log_state.py",
            "            return max(first, self.log_start_offset)\n",
            "            return first\n",
        ),
        scenario=f"{_DELETION}::test_retention_deletes_the_beginning_of_an_open_transaction",
    ),
    Mutant(
        "9065: loading waits for records that were compacted away",
        Edit(
            "broker/coordinator_loading.py",
            "            # Compaction has removed the end of the log.\n            break\n",
            "            await asyncio.sleep(1)\n            continue\n",
        ),
        scenario=f"{_DELETION}::"
        "test_9065_a_coordinator_whose_last_records_were_compacted_away_is_loaded",
    ),
    Mutant(
        "14055: compaction compares the keys of markers with those of records",
        Edit(
            "storage/cleaner/batch_cleaner.py",
            "            return self._clean_marker(header, chunk, position)\n"
            "        is_aborted = self",
            "            kind = marker_type(header, chunk, position)\n"
            "            self._transactions.on_marker(header, kind)\n"
            "        is_aborted = not header.is_control and self",
        ),
        scenario=f"{_DELETION}::test_14055_a_new_replica_of_a_compacted_log_has_every_marker",
    ),
    Mutant(
        "20031: a block of producer ids is given before it is committed",
        Edit(
            "broker/controller_term.py",
            "        if self.decided_offset > self._publisher.offset:\n",
            "        if False:\n",
        ),
        scenario="tests/simulator/test_broker_scenarios.py::"
        "test_20031_brokers_that_ask_two_controllers_get_different_producer_ids",
    ),
)
