"""The ids that new members of classic groups get."""

import random
import subprocess
import sys
import uuid

from moldau.group_coordinator.classic_join import new_member_uuid


def test_the_id_of_a_new_member_is_a_random_uuid() -> None:
    for seed in range(100):
        expected = uuid.UUID(int=random.Random(seed).getrandbits(128), version=4)
        assert new_member_uuid(random.Random(seed)) == str(expected)


def test_the_first_request_about_groups_does_not_wait_for_the_import_of_uuid() -> None:
    program = (
        "import sys, moldau.group_coordinator.shard\n"
        "sys.exit(any(name in sys.modules for name in ('platform', 'uuid')))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
