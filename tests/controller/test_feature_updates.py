"""UpdateFeatures."""

import pytest

from moldau.errors import ErrorCode
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from moldau.protocol.records.metadata import ConfigRecord, FeatureLevelRecord
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
