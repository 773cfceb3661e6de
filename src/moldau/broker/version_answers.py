"""The ApiVersions response: what a listener serves, and the features of the cluster."""

from collections.abc import Iterable
from typing import Final, Protocol

from moldau.errors import ErrorCode
from moldau.metadata.features import KRAFT_VERSION, SUPPORTED_FEATURES
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

PRODUCE_KEY: Final = 0
FIRST_VERSION_WITH_ZERO_LEVELS: Final = 4


class VersionedApi(Protocol):
    """An API with the versions that a listener serves."""

    key: int
    min_version: int
    max_version: int
    is_advertised: bool


def own_versions(api: VersionedApi) -> ApiVersionsResponse:
    """The answer to an ApiVersions of an unknown version: the versions of ApiVersions itself."""
    known = ApiVersion(api_key=api.key, min_version=api.min_version, max_version=api.max_version)
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[known])


def describe_versions(
    served: Iterable[VersionedApi], image: MetadataImage, kraft_version: int, version: int
) -> ApiVersionsResponse:
    """The ApiVersions response: the table of handlers, and the features of the cluster."""
    response = ApiVersionsResponse(finalized_features_epoch=image.offset)
    for api in served:
        if api.is_advertised:
            # librdkafka before 2.0 gives up on a broker that does not list Produce 0.
            oldest = 0 if api.key == PRODUCE_KEY else api.min_version
            response.api_keys.append(
                ApiVersion(api_key=api.key, min_version=oldest, max_version=api.max_version)
            )
    for name, levels in SUPPORTED_FEATURES.items():
        # Clients before version 4 treat a lower bound of 0 as an error (KAFKA-17011).
        if levels.min_version > 0 or version >= FIRST_VERSION_WITH_ZERO_LEVELS:
            response.supported_features.append(
                SupportedFeatureKey(
                    name=name, min_version=levels.min_version, max_version=levels.max_version
                )
            )
    for name, level in {**image.features, KRAFT_VERSION: kraft_version}.items():
        if level > 0:
            response.finalized_features.append(
                FinalizedFeatureKey(name=name, min_version_level=level, max_version_level=level)
            )
    return response
