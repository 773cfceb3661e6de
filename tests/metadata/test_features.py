"""Feature levels of new clusters, as ``kafka-storage version-mapping`` shows them."""

import pytest

from moldau.metadata.features import (
    default_features,
    metadata_changed_between,
    metadata_version_name,
    parse_metadata_version,
    unmet_dependency,
)


@pytest.mark.parametrize(
    ("release", "level", "features"),
    [
        ("4.3-IV0", 30, (1, 1, 1, 1, 2)),
        ("4.2", 29, (1, 1, 1, 1, 2)),
        ("4.2-IV0", 28, (1, 1, 1, 0, 2)),
        ("4.1", 27, (1, 1, 0, 0, 2)),
        ("4.0", 25, (0, 1, 0, 0, 2)),
        ("3.9", 21, (0, 0, 0, 0, 0)),
    ],
)
def test_a_release_brings_its_feature_levels(
    release: str, level: int, features: tuple[int, ...]
) -> None:
    assert parse_metadata_version(release) == level
    names = ("eligible.leader.replicas", "group", "share", "streams", "transaction")
    expected = {f"{name}.version": value for name, value in zip(names, features, strict=True)}
    assert default_features(level) == {"metadata.version": level, **expected}


def test_an_unknown_release_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"'2.8'.*3.3-IV3 to 4.3-IV0"):
        parse_metadata_version("2.8")


def test_eligible_leaders_need_records_that_can_say_so() -> None:
    feature = "eligible.leader.replicas.version"
    assert unmet_dependency(feature, 1, 23) is None
    problem = unmet_dependency(feature, 1, 22)
    assert problem is not None
    assert "metadata.version level 23" in problem


def test_a_downgrade_is_harmless_only_between_levels_with_the_same_records() -> None:
    assert not metadata_changed_between(29, 23)
    assert metadata_changed_between(30, 29)
    assert metadata_version_name(30) == "4.3-IV0"
    assert metadata_version_name(77) == "77"
