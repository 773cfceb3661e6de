"""Who may have lost records: each mutant believes a broker, or a disk, that it must not believe."""

from typing import Final

from moldau.simulator.mutations import Edit, Mutant

_SCENARIOS: Final = "tests/simulator/test_unclean_scenarios.py"
_ELR: Final = "tests/simulator/test_elr_scenarios.py"
_LOGS: Final = "tests/storage/test_log_manager.py"
_KILLED: Final = "test_966_replicas_that_were_killed_are_elected_when_the_last_one_loses_its_power"

UNCLEAN_GUARDS: Final = (
    Mutant(
        "unclean shutdown taken as clean",
        Edit(
            "controller/registration.py",
            "is_clean = existing is not None and previous == existing.epoch",
            "is_clean = True",
        ),
        scenario=f"{_SCENARIOS}::test_18635_a_replica_that_lost_its_power_is_not_eligible_any_more",
    ),
    Mutant(
        "18635: ELR kept after an unclean shutdown",
        Edit(
            "controller/partition_change.py",
            "            and replica not in self.unclean_shutdown\n",
            "",
        ),
        scenario=f"{_SCENARIOS}::test_18635_a_replica_that_lost_its_power_is_not_eligible_any_more",
    ),
    Mutant(
        "18106: an unclean shutdown in the ISR is not noticed",
        Edit(
            "controller/leader_changes.py",
            "_changes(state, in_isr, unclean=broker_id)",
            "_changes(state, in_isr, to_remove=broker_id)",
        ),
        scenario=f"{_SCENARIOS}::"
        "test_18106_a_replica_that_returns_at_once_from_a_power_cut_leaves_the_isr",
    ),
    Mutant(
        "a power cut is taken for a kill",
        Edit(
            "storage/running_marks.py",
            "not disk.exists(path) or not disk.is_marked_in_memory(path)",
            "not disk.exists(path)",
        ),
        scenario=f"{_SCENARIOS}::test_18635_a_replica_that_lost_its_power_is_not_eligible_any_more",
    ),
    Mutant(
        "a kill is taken for a power cut",
        Edit(
            "broker/cluster_metadata.py",
            "            return self._killed_broker_epoch\n",
            "            return -1\n",
        ),
        scenario=f"{_SCENARIOS}::{_KILLED}",
    ),
    Mutant(
        "a killed broker has lost nothing although recovery has cut its logs",
        Edit(
            "storage/log/recovery.py",
            "        self.context.has_cut_logs |= cut > 0\n",
            "",
        ),
        scenario=f"{_LOGS}::test_a_log_that_was_cut_is_not_complete",
    ),
    Mutant(
        "a killed broker has lost nothing although a disk had failed",
        Edit(
            "storage/log_manager.py",
            "            return\n        self.marks.remove()\n",
            "            return\n",
        ),
        Edit(
            "storage/log_manager.py",
            "            self.dirs.fail(log_dir, reason)\n            self.marks.remove()\n",
            "            self.dirs.fail(log_dir, reason)\n",
        ),
        scenario=f"{_LOGS}::test_a_directory_that_fails_takes_every_mark_with_it",
    ),
    Mutant(
        "16540: ELR kept when min.insync.replicas changes",
        Edit(
            "controller/configs.py",
            "    if not state.image.is_elr_enabled:\n        return []\n",
            "    if True:\n        return []\n",
        ),
        scenario=f"{_ELR}::"
        "test_16540_a_smaller_min_isr_ends_the_eligibility_of_those_who_are_out_of_sync",
    ),
    Mutant(
        "19522: a fenced last known leader is elected",
        Edit(
            "controller/partition_change.py",
            "            and self._is_acceptable_leader(last[0])\n",
            "",
        ),
        scenario=f"{_ELR}::test_19522_a_last_known_leader_that_is_fenced_is_not_elected",
    ),
    Mutant(
        "19975: a reassignment waits for every replica",
        Edit(
            "controller/partition_change.py",
            "any(replica not in isr for replica in self.adding)",
            "any(replica not in isr for replica in replicas)",
        ),
        scenario=f"{_ELR}::test_19975_a_sick_replica_that_stays_does_not_hold_up_a_reassignment",
    ),
)
