"""UpdateFeatures: change the finalised feature levels."""

from enum import IntEnum

from moldau.controller.context import DecisionContext
from moldau.controller.outcome import Deciding, Outcome
from moldau.controller.state import ControllerState, check_record_count
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.features import (
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    KRAFT_VERSION,
    METADATA_3_7_IV0,
    METADATA_VERSION,
    METADATA_VERSION_NAMES,
    SUPPORTED_FEATURES,
    VersionRange,
    metadata_changed_between,
    unmet_dependency,
)
from moldau.metadata.image import BROKER_RESOURCE
from moldau.protocol.message import Message
from moldau.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from moldau.protocol.records.metadata import ConfigRecord, FeatureLevelRecord, NoOpRecord


class UpgradeType(IntEnum):
    """The kinds of update that a client can request, with their numbers on the wire."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


def update_features(
    state: ControllerState, request: UpdateFeaturesRequest, version: int, context: DecisionContext
) -> Deciding[UpdateFeaturesResponse]:
    """Apply all updates of a request, or none of them.

    A new kraft.version is not a metadata record: it is part of the outcome, for the quorum.

    Raises:
        ApiError: POLICY_VIOLATION if they need too many records: unknown features can be set to 0.
    """
    wanted: dict[str, FeatureUpdateKey] = {}
    for update in request.feature_updates:
        wanted[update.feature] = update
        yield
    check_record_count(len(wanted))
    records: list[Message] = []
    try:
        for update in wanted.values():
            records += _update(state, update, wanted, version, context)
            yield
    except ApiError as error:
        message = (
            "The update failed for all features since the following feature had an error: "
            f"{error.message}"
        )
        response = UpdateFeaturesResponse(error_code=error.code, error_message=message)
        return Outcome([], response)
    elr = wanted.get(ELIGIBLE_LEADER_REPLICAS_VERSION)
    if elr is not None and elr.max_version_level > 0:
        records = [*_elr_safety_records(state), *records]
    results = []
    if version <= 1:
        results = [
            UpdatableFeatureResult(feature=update.feature, error_message=None)
            for update in wanted.values()
        ]
    response = UpdateFeaturesResponse(error_message=None, results=results)
    if request.validate_only:
        return Outcome([], response)
    kraft = wanted.get(KRAFT_VERSION)
    is_upgraded = kraft is not None and kraft.max_version_level > context.kraft_version
    level = kraft.max_version_level if kraft is not None and is_upgraded else None
    return Outcome(records, response, level)


def _update(
    state: ControllerState,
    update: FeatureUpdateKey,
    wanted: dict[str, FeatureUpdateKey],
    version: int,
    context: DecisionContext,
) -> list[Message]:
    name, level = update.feature, update.max_version_level
    upgrade_type = update.upgrade_type
    if version == 0:
        # Version 0 only had a flag that allows a downgrade.
        is_downgrade = update.allow_downgrade
        upgrade_type = UpgradeType.SAFE_DOWNGRADE if is_downgrade else UpgradeType.UPGRADE
    if upgrade_type not in tuple(UpgradeType):
        raise _invalid(name, level, "The controller does not support the given upgrade type.")
    if level < 0:
        raise _invalid(name, level, "A feature version cannot be less than 0.")
    _check_supported(state, name, level)
    current = state.image.features.get(name, 0)
    if name == KRAFT_VERSION:
        current = context.kraft_version
    if level < current and upgrade_type == UpgradeType.UPGRADE:
        raise _invalid(
            name,
            level,
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade.",
        )
    if level > current and upgrade_type != UpgradeType.UPGRADE:
        raise _invalid(name, level, "Can't downgrade to a newer version.")
    if name == KRAFT_VERSION:
        return _kraft_version_records(level, context)
    if name == METADATA_VERSION:
        _check_metadata_version(current, level, upgrade_type)
    else:
        proposed = wanted.get(METADATA_VERSION)
        metadata_version = state.image.metadata_version
        if proposed is not None:
            metadata_version = proposed.max_version_level
        problem = unmet_dependency(name, level, metadata_version)
        if problem is not None:
            raise _invalid(name, level, problem)
    return [FeatureLevelRecord(name=name, feature_level=level)]


def _kraft_version_records(level: int, context: DecisionContext) -> list[Message]:
    if level < context.kraft_version:
        reason = "Can't downgrade the version of this feature."
        raise _invalid(KRAFT_VERSION, level, reason)
    if level == context.kraft_version:
        return []
    if level > context.max_kraft_version:
        message = (
            f"Invalid upgrade of {KRAFT_VERSION} to KRAFT_VERSION_{level} because not all of the "
            "voters support it"
        )
        raise ApiError(ErrorCode.INVALID_UPDATE_VERSION, message)
    # The response waits for a record, so that there is one to wait for.
    return [NoOpRecord()]


def _check_supported(state: ControllerState, name: str, level: int) -> None:
    """Check that this controller and every registered node support the level."""
    nodes: list[tuple[str, VersionRange]] = [
        (f"Local controller {state.node_id}", SUPPORTED_FEATURES.get(name, VersionRange(0, 0)))
    ]
    nothing = VersionRange(0, 0)
    nodes += [
        (f"Broker {broker.id}", broker.features.get(name, nothing))
        for broker in state.image.brokers.values()
    ]
    has_registrations = state.image.metadata_version >= METADATA_3_7_IV0
    if has_registrations:
        nodes += [
            (f"Controller {controller.id}", controller.features.get(name, nothing))
            for controller in state.image.controllers.values()
            if controller.id != state.node_id
        ]
    for who, supported in nodes:
        if level not in supported:
            has = "does not support this feature."
            if supported.max_version > 0:
                has = f"only supports versions {supported.min_version}-{supported.max_version}"
            raise _invalid(name, level, f"{who} {has}")
    voters = state.config.controller_quorum_voters if has_registrations else ()
    for voter_id in [int(voter.partition("@")[0]) for voter in voters]:
        if voter_id != state.node_id and voter_id not in state.image.controllers:
            reason = f"controller {voter_id} has not registered, and may not support this feature"
            raise _invalid(name, level, reason)


def _check_metadata_version(current: int, level: int, upgrade_type: int) -> None:
    if level not in METADATA_VERSION_NAMES:
        first, last = min(METADATA_VERSION_NAMES), max(METADATA_VERSION_NAMES)
        message = f"Valid versions are from {first} to {last}."
        raise ApiError(
            ErrorCode.INVALID_UPDATE_VERSION, f"Invalid metadata.version {level}. {message}"
        )
    if level < current and metadata_changed_between(current, level):
        reason = (
            "Refusing to perform the requested downgrade because it might delete metadata "
            "information."
        )
        if upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
            reason = "Unsafe metadata downgrade is not supported in this version."
        message = f"Unsupported metadata.version downgrade from {current} to {level}. {reason}"
        raise ApiError(ErrorCode.INVALID_UPDATE_VERSION, message)


def _invalid(name: str, level: int, reason: str) -> ApiError:
    message = f"Invalid update version {level} for feature {name}. {reason}"
    return ApiError(ErrorCode.INVALID_UPDATE_VERSION, message)


def _elr_safety_records(state: ControllerState) -> list[Message]:
    """Set one min.insync.replicas for the whole cluster before ELR is enabled."""
    name = "min.insync.replicas"
    records: list[Message] = []
    if name not in state.cluster_settings:
        records.append(
            ConfigRecord(
                resource_type=BROKER_RESOURCE,
                resource_name="",
                name=name,
                value=state.config.value_text(name),
            )
        )
    for resource, settings in state.image.configs.items():
        if resource.type == BROKER_RESOURCE and resource.name and name in settings:
            records.append(
                ConfigRecord(
                    resource_type=BROKER_RESOURCE,
                    resource_name=resource.name,
                    name=name,
                    value=None,
                )
            )
    return records
