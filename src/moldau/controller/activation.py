"""The first records of a controller that has just become active.

A new cluster gets the bootstrap records that its directory was formatted with, in one
metadata transaction, so that a controller that fails half-way leaves nothing behind. A
controller that finds an unfinished transaction of its predecessor aborts it.
"""

from collections.abc import Sequence

from moldau.controller.state import ControllerState
from moldau.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    METADATA_3_6_IV1,
    METADATA_VERSION,
)
from moldau.metadata.image import BROKER_RESOURCE
from moldau.protocol.message import Message
from moldau.protocol.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)


def activation_records(state: ControllerState, bootstrap: Sequence[Message]) -> list[Message]:
    """The records to append first in a new epoch; often none."""
    records: list[Message] = []
    if state.transaction_offset >= 0:
        records.append(AbortTransactionRecord(reason="Controller failover"))
    if state.image.metadata_version >= 0:
        return records

    levels = bootstrap_levels(bootstrap)
    has_transactions = levels.get(METADATA_VERSION, -1) >= METADATA_3_6_IV1
    if has_transactions:
        records.append(BeginTransactionRecord(name="Bootstrap records"))
    records += bootstrap
    if levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0:
        # ELR needs one min.insync.replicas for the whole cluster (KIP-966).
        minimum = state.config.value_text("min.insync.replicas")
        records.append(
            ConfigRecord(
                resource_type=BROKER_RESOURCE,
                resource_name="",
                name="min.insync.replicas",
                value=minimum,
            )
        )
    if has_transactions:
        records.append(EndTransactionRecord())
    return records


def bootstrap_levels(bootstrap: Sequence[Message]) -> dict[str, int]:
    """The feature levels in bootstrap records."""
    return {
        record.name: record.feature_level
        for record in bootstrap
        if isinstance(record, FeatureLevelRecord)
    }
