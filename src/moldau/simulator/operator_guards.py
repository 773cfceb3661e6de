"""What must survive an operator who moves replicas and deletes records: each mutant breaks one."""

from typing import Final

from moldau.simulator.mutations import Edit, Mutant

_REPLICATION: Final = "tests/simulator/test_replication.py"
_LOG_DIRS: Final = "tests/broker/test_log_dirs.py"
_ASSIGNMENTS: Final = "tests/broker/test_directory_assignments.py"
_REASSIGNMENTS: Final = "tests/controller/test_reassignments.py"

OPERATOR_GUARDS: Final = (
    Mutant(
        "a follower cannot begin with a batch in which the log of its leader starts",
        Edit(
            "broker/partition.py",
            "        starts_within = self.log.log_end_offset == log_start_offset and "
            "self.log.start_within(\n            records\n        )\n",
            "        starts_within = False\n",
        ),
        scenario=f"{_REPLICATION}::test_a_new_replica_follows_a_log_that_starts_within_a_batch",
    ),
    Mutant(
        "a copy that has lost its topic id takes the place of the log",
        Edit(
            "broker/replica_mover.py",
            "                    partition.topic_id,\n"
            "                    log_dir=future.log_dir,\n",
            "                    log_dir=future.log_dir,\n",
        ),
        scenario=f"{_LOG_DIRS}::"
        "test_a_move_goes_on_after_the_topic_id_of_the_copy_was_lost_with_the_power",
    ),
    Mutant(
        "a reassignment waits for replicas that only the one before it was adding",
        Edit(
            "controller/reassignments.py",
            "tuple(each for each in registration.adding_replicas if each in target)\n",
            "registration.adding_replicas\n",
        ),
        scenario=f"{_REASSIGNMENTS}::"
        "test_a_target_without_some_that_are_being_added_does_not_wait_for_them",
    ),
    Mutant(
        "a reassignment loses replicas that the one before it was removing",
        Edit(
            "controller/reassignments.py",
            "    change.removing = removing\n",
            "    change.removing = removing or change.removing\n",
        ),
        scenario=f"{_REASSIGNMENTS}::test_a_target_with_some_that_are_being_removed_keeps_them",
    ),
    Mutant(
        "the directory of a replica is reported once, also if there is no controller",
        Edit(
            "broker/directory_assignments.py",
            "            return error.code not in PASSING or self._is_stopped\n",
            "            return True\n",
        ),
        scenario=f"{_ASSIGNMENTS}::test_a_report_is_repeated_until_a_controller_takes_it",
    ),
)
