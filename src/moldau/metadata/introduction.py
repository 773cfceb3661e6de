"""Where a node listens and what it supports, as every message says it that introduces one.

A broker or a controller introduces itself in a request, and the metadata log keeps that in a
record: four messages, each with classes of its own for the same fields. They are read into these
values, and written from them.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol, TypeVar

from moldau.metadata.features import VersionRange

T = TypeVar("T")


class Endpoint(NamedTuple):
    """Where a node listens, as registered."""

    name: str
    host: str
    port: int
    security_protocol: int


class EndpointField(Protocol):
    """A listener in any of the messages."""

    name: str
    host: str
    port: int
    security_protocol: int


class FeatureField(Protocol):
    """A feature in any of the messages."""

    name: str
    min_supported_version: int
    max_supported_version: int


def endpoints_of(fields: Iterable[EndpointField]) -> tuple[Endpoint, ...]:
    return tuple(
        Endpoint(field.name, field.host, field.port, field.security_protocol) for field in fields
    )


def endpoint_fields(field: Callable[..., T], endpoints: Iterable[Endpoint]) -> list[T]:
    """The endpoints in the class of some message."""
    return [field(**endpoint._asdict()) for endpoint in endpoints]


def features_of(fields: Iterable[FeatureField]) -> dict[str, VersionRange]:
    return {
        field.name: VersionRange(field.min_supported_version, field.max_supported_version)
        for field in fields
    }


def feature_fields(field: Callable[..., T], features: Mapping[str, VersionRange]) -> list[T]:
    """The features in the class of some message."""
    return [
        field(
            name=name,
            min_supported_version=versions.min_version,
            max_supported_version=versions.max_version,
        )
        for name, versions in features.items()
    ]
