"""Endpoints and supported features of a node, in the messages that register one.

Brokers and controllers register with a request, and the metadata log stores that in a record:
four messages, each with its own classes for the same fields. These values are their common form.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from moldau.metadata.features import VersionRange

T = TypeVar("T")


class Endpoint(NamedTuple):
    """A registered listener of a node."""

    name: str
    host: str
    port: int
    security_protocol: int


class EndpointField(Protocol):
    """The fields of a listener in any of the messages."""

    name: str
    host: str
    port: int
    security_protocol: int


class FeatureField(Protocol):
    """The fields of a feature in any of the messages."""

    name: str
    min_supported_version: int
    max_supported_version: int


def endpoints_of(fields: Iterable[EndpointField]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(field.name, field.host, field.port, field.security_protocol) for field in fields
    )


def endpoint_fields(field: Callable[..., T], endpoints: Iterable[Endpoint]) -> list[T]:
    """Convert endpoints to the class of a message."""
    return [field(**endpoint._asdict()) for endpoint in endpoints]


def features_of(fields: Iterable[FeatureField]) -> dict[str, VersionRange]:
    return {
        field.name: VersionRange(field.min_supported_version, field.max_supported_version)
        for field in fields
    }


def feature_fields(field: Callable[..., T], features: Mapping[str, VersionRange]) -> list[T]:
    """Convert features to the class of a message."""
    return [
        field(
            name=name,
            min_supported_version=versions.min_version,
            max_supported_version=versions.max_version,
        )
        for name, versions in features.items()
    ]
