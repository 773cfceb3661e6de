"""UpdateFeatures."""

import pytest

from moldau.controller.context import DecisionContext
from moldau.controller.outcome import Outcome, decided
from moldau.errors import ApiError, ErrorCode
from moldau.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    Feature,
)
from moldau.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from moldau.protocol.records.metadata import ConfigRecord, FeatureLevelRecord, NoOpRecord
from tests.controller.cluster import Cluster

UPGRADE, SAFE, UNSAFE = 1, 2, 3


def update(
    cluster: Cluster, feature: str, level: int, kind: int = UPGRADE, *, validate_only: bool = False
) -> tuple[int, str]:
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind)
        ],
        validate_only=validate_only,
    )
    outcome = cluster.controller.update_features(request, 2)
    cluster.commit(outcome.records)
    return outcome.response.error_code, outcome.response.error_message or ""


def test_a_feature_is_raised_within_its_range() -> None:
    cluster = Cluster(level=25)
    assert update(cluster, "metadata.version", 30) == (0, "")
    assert cluster.image.metadata_version == 30
    assert update(cluster, "share.version", 1, validate_only=True) == (0, "")
    assert "share.version" not in cluster.image.features


def test_enabling_eligible_leaders_first_fixes_the_minimum_for_the_cluster() -> None:
    cluster = Cluster(level=25, settings={"min.insync.replicas": "2"})
    request = UpdateFeaturesRequest(
        feature_updates=[
            FeatureUpdateKey(feature="eligible.leader.replicas.version", max_version_level=1)
        ]
    )
    outcome = cluster.controller.update_features(request, 1)
    assert outcome.records == [
        ConfigRecord(resource_type=4, resource_name="", name="min.insync.replicas", value="2"),
        FeatureLevelRecord(name="eligible.leader.replicas.version", feature_level=1),
    ]
    assert [each.feature for each in outcome.response.results] == [
        "eligible.leader.replicas.version"
    ]


@pytest.mark.parametrize(
    ("feature", "level", "kind", "message"),
    [
        ("no.such", 1, UPGRADE, "does not support this feature"),
        ("group.version", 9, UPGRADE, "only supports versions 0-1"),
        ("group.version", -1, UPGRADE, "cannot be less than 0"),
        ("group.version", 1, 7, "does not support the given upgrade type"),
        ("group.version", 0, UPGRADE, "Can't downgrade the version of this feature without"),
        ("kraft.version", 0, SAFE, "Can't downgrade the version of this feature."),
        ("metadata.version", 29, SAFE, "it might delete metadata information"),
        ("metadata.version", 29, UNSAFE, "Unsafe metadata downgrade is not supported"),
        ("metadata.version", 31, UPGRADE, "only supports versions 7-30"),
    ],
)
def test_what_cannot_be_updated_says_why(feature: str, level: int, kind: int, message: str) -> None:
    cluster = Cluster()
    code, actual = update(cluster, feature, level, kind)
    assert code == ErrorCode.INVALID_UPDATE_VERSION
    assert message in actual
    assert cluster.image.metadata_version == 30


def test_a_feature_is_lowered_when_that_is_asked_for() -> None:
    cluster = Cluster()
    assert update(cluster, "group.version", 0, SAFE) == (0, "")
    assert "group.version" not in cluster.image.features


def test_a_downgrade_cannot_go_up() -> None:
    cluster = Cluster(level=25)
    code, message = update(cluster, "metadata.version", 26, SAFE)
    assert code == ErrorCode.INVALID_UPDATE_VERSION
    assert "Can't downgrade to a newer version." in message


def decided_update(
    cluster: Cluster, level: int, context: DecisionContext, *, validate_only: bool = False
) -> Outcome[UpdateFeaturesResponse]:
    wanted = FeatureUpdateKey(
        feature="kraft.version", max_version_level=level, upgrade_type=UPGRADE
    )
    request = UpdateFeaturesRequest(feature_updates=[wanted], validate_only=validate_only)
    return decided(cluster.controller.decide(request, 2, context, 0))


def test_a_new_kraft_version_is_for_the_quorum_to_write() -> None:
    cluster = Cluster()
    able = DecisionContext(kraft_version=0, max_kraft_version=1)
    outcome = decided_update(cluster, 1, able)
    assert (outcome.response.error_code, outcome.kraft_version) == (0, 1)
    assert outcome.records == [NoOpRecord()]
    checked = decided_update(cluster, 1, able, validate_only=True)
    assert (checked.response.error_code, checked.records, checked.kraft_version) == (0, [], None)
    same = decided_update(cluster, 1, DecisionContext(kraft_version=1, max_kraft_version=1))
    assert (same.response.error_code, same.records, same.kraft_version) == (0, [], None)


def test_a_kraft_version_that_a_voter_does_not_support_is_refused() -> None:
    outcome = decided_update(Cluster(), 1, DecisionContext(kraft_version=0, max_kraft_version=0))
    assert outcome.response.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert outcome.response.error_message is not None
    assert "because not all of the voters support it" in outcome.response.error_message


def test_a_voter_that_has_not_registered_may_not_support_a_feature() -> None:
    quorum = {
        "process.roles": "controller",
        "node.id": "1",
        "listeners": "CONTROLLER://localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@localhost:9093,2@localhost:9094",
    }
    cluster = Cluster(level=25, settings=quorum)
    code, message = update(cluster, "metadata.version", 26, UPGRADE)
    assert code == ErrorCode.INVALID_UPDATE_VERSION
    assert "controller 2 has not registered, and may not support this feature" in message
    cluster.decide(
        ControllerRegistrationRequest(
            controller_id=2,
            features=[
                Feature(name="metadata.version", min_supported_version=7, max_supported_version=30)
            ],
        )
    )
    assert update(cluster, "metadata.version", 26, UPGRADE) == (0, "")


def test_many_updates_take_many_steps_and_more_than_a_batch_are_refused() -> None:
    """Unknown features can be set to 0, which is a record for each of them."""
    cluster = Cluster()
    updates = [FeatureUpdateKey(feature=f"f{number}") for number in range(10_001)]
    request = UpdateFeaturesRequest(feature_updates=updates)
    with pytest.raises(ApiError) as caught:
        decided(cluster.controller.decide(request, 2, DecisionContext(), cluster.now_ms))
    assert caught.value.code == ErrorCode.POLICY_VIOLATION
    request.feature_updates = updates[:1000]
    steps = cluster.controller.decide(request, 2, DecisionContext(), cluster.now_ms)
    assert len(list(steps)) >= 2000
