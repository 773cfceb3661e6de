"""Feature levels: those finalised for the cluster, and those that this software supports.

A feature level determines which records may be in the metadata log. It is finalised for the
whole cluster, when it is formatted or by an UpdateFeatures request, so that no node has to read
a record that it does not know.

``metadata.version`` is the feature that the others depend on: a new cluster gets, for every
other feature, the highest level whose bootstrap metadata.version it has reached.
``kraft.version`` is kept by the quorum in control records, and never in a FeatureLevelRecord.
"""

from typing import Final, NamedTuple

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"
TRANSACTION_VERSION: Final = "transaction.version"
GROUP_VERSION: Final = "group.version"
ELIGIBLE_LEADER_REPLICAS_VERSION: Final = "eligible.leader.replicas.version"
SHARE_VERSION: Final = "share.version"
STREAMS_VERSION: Final = "streams.version"

MIN_METADATA_VERSION: Final = 7
LATEST_METADATA_VERSION: Final = 30
# The next level is known but not stable yet, so that it is refused with a clear reason.
LATEST_TESTING_METADATA_VERSION: Final = 31

# From these levels of metadata.version on, a kind of record or field may be written.
METADATA_3_4_IV0: Final = 8
METADATA_3_5_IV2: Final = 11
METADATA_3_6_IV0: Final = 12
METADATA_3_6_IV1: Final = 13
METADATA_3_6_IV2: Final = 14
METADATA_3_7_IV0: Final = 15
METADATA_3_7_IV2: Final = 17
METADATA_4_0_IV1: Final = 23
METADATA_4_3_IV0: Final = 30

METADATA_VERSION_NAMES: Final[dict[int, str]] = {
    7: "3.3-IV3",
    8: "3.4-IV0",
    9: "3.5-IV0",
    10: "3.5-IV1",
    11: "3.5-IV2",
    12: "3.6-IV0",
    13: "3.6-IV1",
    14: "3.6-IV2",
    15: "3.7-IV0",
    16: "3.7-IV1",
    17: "3.7-IV2",
    18: "3.7-IV3",
    19: "3.7-IV4",
    20: "3.8-IV0",
    21: "3.9-IV0",
    22: "4.0-IV0",
    23: "4.0-IV1",
    24: "4.0-IV2",
    25: "4.0-IV3",
    26: "4.1-IV0",
    27: "4.1-IV1",
    28: "4.2-IV0",
    29: "4.2-IV1",
    30: "4.3-IV0",
    31: "4.4-IV0",
}

# Levels at which the records themselves changed: a downgrade past one may lose metadata.
METADATA_CHANGED_AT: Final = frozenset((7, 8, 11, 13, 14, 15, 17, 23, 30))


class VersionRange(NamedTuple):
    """The levels of a feature that a node supports, inclusive."""

    min_version: int
    max_version: int

    def __contains__(self, level: object) -> bool:
        return isinstance(level, int) and self.min_version <= level <= self.max_version


SUPPORTED_FEATURES: Final[dict[str, VersionRange]] = {
    GROUP_VERSION: VersionRange(0, 1),
    KRAFT_VERSION: VersionRange(0, 1),
    METADATA_VERSION: VersionRange(MIN_METADATA_VERSION, LATEST_METADATA_VERSION),
    SHARE_VERSION: VersionRange(0, 1),
    STREAMS_VERSION: VersionRange(0, 1),
    TRANSACTION_VERSION: VersionRange(0, 2),
    ELIGIBLE_LEADER_REPLICAS_VERSION: VersionRange(0, 1),
}

# feature -> the metadata.version from which level 1, 2, ... is the default of a new cluster.
_BOOTSTRAP_METADATA_VERSIONS: Final[dict[str, tuple[int, ...]]] = {
    ELIGIBLE_LEADER_REPLICAS_VERSION: (26,),
    GROUP_VERSION: (22,),
    SHARE_VERSION: (28,),
    STREAMS_VERSION: (29,),
    TRANSACTION_VERSION: (24, 24),
}

# (feature, level) -> the lowest metadata.version that the level can be enabled with.
_REQUIRED_METADATA_VERSIONS: Final[dict[tuple[str, int], int]] = {
    (ELIGIBLE_LEADER_REPLICAS_VERSION, 1): METADATA_4_0_IV1,
}


def metadata_version_name(level: int) -> str:
    """``4.3-IV0`` for 30; the number for an unknown level."""
    return METADATA_VERSION_NAMES.get(level, str(level))


def parse_metadata_version(text: str) -> int:
    """The level of ``4.3-IV0``, or of the newest stable version of release ``4.3``.

    Raises:
        ValueError: the version is unknown.
    """
    found = -1
    for level, name in METADATA_VERSION_NAMES.items():
        if name == text:
            return level
        if level <= LATEST_METADATA_VERSION and name.partition("-")[0] == text:
            found = level
    if found < 0:
        oldest = METADATA_VERSION_NAMES[MIN_METADATA_VERSION]
        newest = METADATA_VERSION_NAMES[LATEST_METADATA_VERSION]
        raise ValueError(
            f"Unknown metadata.version '{text}'. Supported metadata.version are: "
            f"{oldest} to {newest}"
        )
    return found


def default_level(feature: str, metadata_version: int) -> int:
    """The level of ``feature`` that a cluster formatted at ``metadata_version`` starts with."""
    level = 0
    for index, needed in enumerate(_BOOTSTRAP_METADATA_VERSIONS[feature]):
        if metadata_version >= needed:
            level = index + 1
    return level


def default_features(metadata_version: int) -> dict[str, int]:
    """The levels of a new cluster by name, without kraft.version."""
    levels = {METADATA_VERSION: metadata_version}
    for feature in sorted(_BOOTSTRAP_METADATA_VERSIONS):
        levels[feature] = default_level(feature, metadata_version)
    return levels


def unmet_dependency(feature: str, level: int, metadata_version: int) -> str | None:
    """Why ``feature`` cannot be at ``level`` with this metadata.version; None if it can."""
    needed = _REQUIRED_METADATA_VERSIONS.get((feature, level))
    if needed is not None and metadata_version < needed:
        return (
            f"{feature} could not be set to {level} because it depends on "
            f"{METADATA_VERSION} level {needed}"
        )
    return None


def metadata_changed_between(high: int, low: int) -> bool:
    """Whether records written at level ``high`` may not be readable at level ``low``."""
    return any(level in METADATA_CHANGED_AT for level in range(low + 1, high + 1))
