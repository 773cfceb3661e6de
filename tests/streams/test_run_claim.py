"""A run is visible to others that would run the same app from other checkpoints."""

import threading
from pathlib import Path

import pytest

from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin
from moldau.spark.errors import PipelineError
from moldau.streams import App
from moldau.streams.run_claim import RunClaim, claim_group


def claim_of(bootstrap: str, folder: Path) -> RunClaim:
    app = App("claimed", bootstrap=bootstrap, checkpoint_dir=folder)
    return app.claim()


def wait_for_members(admin: Admin, count: int) -> None:
    groups = GroupAdmin(admin.cluster)
    group = claim_group("claimed")
    while len([each for each in groups.list_groups() if each.group_id == group]) == 0:
        pass
    while len(groups.describe(group).members) != count:
        pass


def test_an_app_is_refused_while_it_runs_from_other_checkpoints(
    bootstrap: str, tmp_path: Path
) -> None:
    stopping = threading.Event()
    with Admin(bootstrap) as admin:
        first = claim_of(bootstrap, tmp_path / "one")
        first.require_alone(admin, stopping)
        with first.held():
            wait_for_members(admin, 1)
            # The lock beside the checkpoints has said that the run before is dead.
            claim_of(bootstrap, tmp_path / "one").require_alone(admin, stopping)
            expected = f"claimed is running already, from the checkpoints in {tmp_path}/one on "
            with pytest.raises(PipelineError, match=expected):
                claim_of(bootstrap, tmp_path / "two").require_alone(admin, stopping)
        wait_for_members(admin, 0)
        claim_of(bootstrap, tmp_path / "two").require_alone(admin, stopping)
