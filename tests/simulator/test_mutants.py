"""The table of mutants; that each is caught is shown by ``make simulate-mutants``."""

import shutil
from pathlib import Path

import pytest

from moldau.simulator.mutants import ALL, PACKAGE, PROJECT, caught_by, mutate, table
from moldau.simulator.mutations import Edit, Mutant

CAUGHT_BY_A_SCENARIO = [each for each in ALL if each.scenario]


@pytest.mark.parametrize("mutant", ALL, ids=lambda each: each.name)
def test_a_mutant_can_be_made_and_compiles(mutant: Mutant, tmp_path: Path) -> None:
    files = sorted({edit.file for edit in mutant.edits})
    for file in files:
        copy = tmp_path / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PACKAGE / file, copy)
    mutate(mutant, tmp_path)
    for file in files:
        compile((tmp_path / file).read_text(), file, "exec")
        assert (tmp_path / file).read_text() != (PACKAGE / file).read_text()


def test_a_mutant_whose_place_is_gone_is_named(tmp_path: Path) -> None:
    (tmp_path / "file.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match=r"nothing flushed: file\.py"):
        mutate(Mutant("nothing flushed", Edit("file.py", "y = 2", "y = 3")), tmp_path)


@pytest.mark.parametrize("mutant", CAUGHT_BY_A_SCENARIO, ids=lambda each: each.name)
def test_the_scenario_of_a_mutant_is_there(mutant: Mutant) -> None:
    file, name = mutant.scenario.split("::")
    assert f"def {name}(" in (PROJECT / file).read_text()


def test_a_scenario_catches_its_mutant_and_lets_the_sources_pass() -> None:
    (mutant,) = (each for each in ALL if each.name.startswith("10527:"))
    name = "test_10527_a_restarted_leader_does_not_lead_its_epoch_again"
    assert caught_by(mutant, 0, 1) == name
    assert caught_by(Mutant("nothing is broken", scenario=mutant.scenario), 0, 1) is None


def test_survivors_are_in_the_table() -> None:
    rows = [(ALL[0], "3"), (ALL[1], None), (ALL[2], "test_1234_a_leader_resigns")]
    assert table(rows).splitlines()[2:] == [
        f"| {ALL[0].name} | seed 3 |",
        f"| {ALL[1].name} | nothing: it survives |",
        f"| {ALL[2].name} | test_1234_a_leader_resigns |",
    ]
