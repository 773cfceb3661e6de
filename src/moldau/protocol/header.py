"""Request and response headers.

A request begins with API key, version and correlation id. Whether tagged fields follow the
client id depends on the API and version, so the header cannot be read without the table of
APIs. The client id itself has a two-byte length in every version, so that a broker can name the
client of a request it does not understand.

ApiVersions is an exception in two ways. Its response always has the oldest header, since the
client does not know yet which versions the broker supports. And the header of a request with an
unknown version is still read up to the client id, because the response lists the known versions.
"""

from typing import Final

from librt.strings import BytesWriter, read_i16_be, read_i32_be, write_i16_be, write_i32_be

from moldau.protocol.api import APIS
from moldau.protocol.reading import MalformedMessage, read_nullable_string, skip_tags
from moldau.protocol.writing import write_nullable_string

API_VERSIONS_KEY: Final = 18


class RequestHeader:
    """The API, version and correlation id of a request, and the client id."""

    __slots__ = ("api_key", "api_version", "client_id", "correlation_id")

    def __init__(
        self, api_key: int, api_version: int, correlation_id: int, client_id: str | None
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RequestHeader):
            return NotImplemented
        return (
            self.api_key == other.api_key
            and self.api_version == other.api_version
            and self.correlation_id == other.correlation_id
            and self.client_id == other.client_id
        )

    def __repr__(self) -> str:
        return (
            f"RequestHeader(api_key={self.api_key}, api_version={self.api_version}, "
            f"correlation_id={self.correlation_id}, client_id={self.client_id!r})"
        )


def decode_request_header(frame: bytes) -> tuple[RequestHeader, int]:
    """The header at the start of ``frame``, and where the request's body begins.

    The version is not checked against the versions of the API: the caller knows which of
    them it supports.

    Raises:
        MalformedMessage: the header is invalid, or the API key is unknown.
    """
    try:
        api_key = read_i16_be(frame, 0)
        api_version = read_i16_be(frame, 2)
        correlation_id = read_i32_be(frame, 4)
        api = APIS.get(api_key)
        if api is None:
            raise MalformedMessage(f"unknown API key {api_key}")
        if api_version < 0:
            raise MalformedMessage(f"negative version {api_version} of {api.name}")
        client_id, position = read_nullable_string(frame, 8)
        header = RequestHeader(api_key, api_version, correlation_id, client_id)
        if api.first_flexible < 0 or api_version < api.first_flexible:
            return header, position
        if api_key == API_VERSIONS_KEY and api_version > api.max_version:
            return header, position
        return header, skip_tags(frame, position)
    except (IndexError, ValueError) as error:
        raise MalformedMessage(f"request header: {error}") from None


def encode_request_header(
    api_key: int, api_version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """The header of a request; its body follows."""
    writer = BytesWriter()
    write_i16_be(writer, api_key)
    write_i16_be(writer, api_version)
    write_i32_be(writer, correlation_id)
    write_nullable_string(writer, client_id)
    if APIS[api_key].is_flexible(api_version):
        writer.append(0)
    return writer.getvalue()


def response_header(correlation_id: int, api_key: int, api_version: int) -> bytes:
    """The header of a response; its body follows."""
    writer = BytesWriter()
    write_i32_be(writer, correlation_id)
    if api_key != API_VERSIONS_KEY and APIS[api_key].is_flexible(api_version):
        writer.append(0)
    return writer.getvalue()


def decode_response_header(frame: bytes, api_key: int, api_version: int) -> tuple[int, int]:
    """The correlation id, and where the response's body begins."""
    try:
        correlation_id = read_i32_be(frame, 0)
        if api_key != API_VERSIONS_KEY and APIS[api_key].is_flexible(api_version):
            return correlation_id, skip_tags(frame, 4)
        return correlation_id, 4
    except (IndexError, ValueError) as error:
        raise MalformedMessage(f"response header: {error}") from None
