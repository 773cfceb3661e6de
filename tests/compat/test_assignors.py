"""The server-side assignors give what Apache Kafka's own give, partition by partition.

Random groups live through random changes: members come and go, subscribe anew, topics grow.
After each change both assignors start from what the last assignment was. Members and the
partitions that they had stand in one order for both; in a real group Kafka's is that of hash
tables.
"""

import os
import random
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from moldau.group_coordinator.consumer.assignors import ASSIGNORS
from moldau.group_coordinator.consumer.assignors.spec import (
    GroupAssignment,
    GroupSpec,
    MemberSpec,
    Partitions,
)

pytestmark = pytest.mark.compat

PROGRAM = Path(__file__).parent / "java" / "Assignors.java"
GROUPS = 400
CHANGES = 5


@pytest.fixture(scope="module")
def kafka_dir() -> Path:
    folder = os.environ.get("KAFKA_DIR")
    if not folder or not Path(folder, "libs").is_dir():
        pytest.skip("KAFKA_DIR does not name an Apache Kafka installation")
    if shutil.which("java") is None or shutil.which("javac") is None:
        pytest.skip("no JDK (java and javac) on the PATH")
    return Path(folder)


def topic(number: int) -> bytes:
    return number.to_bytes(16, "big")


def number(topic_id: bytes) -> int:
    return int.from_bytes(topic_id, "big")


def random_group(name: str, is_mixed: bool, rng: random.Random) -> Iterator[GroupSpec]:
    """A group after each of some changes."""
    counts = {topic(each): rng.randint(1, 12) for each in range(1, 5)}
    previous: GroupAssignment = {}
    for _ in range(CHANGES):
        common = rng.sample(sorted(counts), rng.randint(1, 4))
        members = []
        for member_id in sorted(rng.sample("abcdefgh", rng.randint(1, 8))):
            topics = rng.sample(sorted(counts), rng.randint(0, 4)) if is_mixed else common
            members.append(
                MemberSpec(
                    member_id, None, None, tuple(sorted(topics)), previous.get(member_id, {})
                )
            )
        is_homogeneous = len({member.topic_ids for member in members}) == 1
        wanted = {each for member in members for each in member.topic_ids}
        spec = GroupSpec(members, {each: counts[each] for each in wanted}, is_homogeneous)
        if wanted:
            yield spec
            previous = ASSIGNORS[name](spec)
        counts = {each: count + rng.choice((0, 0, 3)) for each, count in counts.items()}


def shown(partitions: Partitions) -> str:
    return "/".join(
        f"{number(topic_id)}={','.join(map(str, numbers))}"
        for topic_id, numbers in sorted(partitions.items())
        if numbers
    )


def question(name: str, spec: GroupSpec) -> str:
    counts = ",".join(f"{number(each)}:{count}" for each, count in spec.partition_counts.items())
    members = [
        f"{member.member_id}|{','.join(str(number(each)) for each in member.topic_ids)}|"
        f"{shown(member.previous)}"
        for member in spec.members
    ]
    return " ".join([name, counts, *members])


def answer(spec: GroupSpec, assignment: Mapping[str, Partitions]) -> str:
    ids = (member.member_id for member in spec.members)
    return " ".join(f"{member_id}|{shown(assignment[member_id])}" for member_id in ids)


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
@pytest.mark.parametrize("is_mixed", [False, True])
def test_assignments_are_kafkas(name: str, is_mixed: bool, kafka_dir: Path) -> None:
    rng = random.Random(20260)
    specs = [spec for _ in range(GROUPS) for spec in random_group(name, is_mixed, rng)]
    questions = [question(name, spec) for spec in specs]
    process = subprocess.run(
        ["java", "-Xmx256M", "-cp", f"{kafka_dir}/libs/*", str(PROGRAM)],
        input="\n".join(questions) + "\n",
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    answers = process.stdout.splitlines()
    assert len(answers) == len(specs) > GROUPS
    for spec, asked, expected in zip(specs, questions, answers, strict=True):
        assert answer(spec, ASSIGNORS[name](spec)) == expected, asked
