"""Resets an app: deletes its checkpoints, its internal topics and its groups.

Records that it wrote to users' topics stay: they belong to the users, and will be written again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from moldau.client.admin import Admin
from moldau.client.group_admin import GroupAdmin
from moldau.errors import ApiError, ErrorCode
from moldau.spark.errors import PipelineError
from moldau.streams.checkpoints import delete_checkpoints
from moldau.streams.queries import Query
from moldau.streams.run_claim import claim_group
from moldau.streams.run_lock import running_process
from moldau.streams.topics import group_of, ledger_of, topic_of


@dataclass(frozen=True)
class ResetPlan:
    """What a reset deletes."""

    checkpoints: Path | None
    topics: list[str]
    groups: list[str]

    @property
    def is_empty(self) -> bool:
        return self.checkpoints is None and not self.topics and not self.groups

    def lines(self) -> list[str]:
        """For display: one item per line."""
        first = [] if self.checkpoints is None else [f"checkpoints     {self.checkpoints}"]
        return [
            *first,
            *(f"internal topic  {name}" for name in self.topics),
            *(f"group           {name}" for name in self.groups),
        ]


def plan_reset(admin: Admin, app: str, folder: Path, queries: Sequence[Query]) -> ResetPlan:
    """What a reset of the app with checkpoints in ``folder`` deletes."""
    existing = {each.name for each in admin.list_topics()}
    known = {each.group_id for each in GroupAdmin(admin.cluster).list_groups()}
    groups = [*(group_of(app, each) for each in queries), claim_group(app)]
    internal = [topic_of(each) for each in queries if each.is_cut]
    internal = [name for each in internal for name in (each, ledger_of(each))]
    return ResetPlan(
        folder if folder.exists() else None,
        [each for each in internal if each in existing],
        [each for each in groups if each in known],
    )


def execute_reset(admin: Admin, app: str, folder: Path, plan: ResetPlan) -> None:
    """Delete what is planned. The checkpoints come last: until then the reset can be repeated.

    Raises:
        PipelineError: the app is running.
        ApiError: something cannot be deleted.
    """
    process = running_process(folder)
    if process is not None:
        raise PipelineError(f"{app} is running (process {process}): stop it before a reset")
    groups = GroupAdmin(admin.cluster)
    for group in plan.groups:
        try:
            groups.delete(group)
        except ApiError as error:
            if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                raise
    if plan.topics:
        admin.delete_topics(plan.topics)
    if plan.checkpoints is not None:
        delete_checkpoints(plan.checkpoints)
