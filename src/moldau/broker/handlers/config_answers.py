"""A DescribeConfigs response, encoded resource by resource.

Most topics have the same settings, and a request may have one resource many times. So settings are
encoded once, separately from the name of the resource, and the same bytes are used for all
resources with the same settings: ten thousand topics take the memory of a few.

Rules this module keeps:

* The bytes are the same as those of the generated DescribeConfigsResponse.
* The settings in a response take at most ``MAX_ANSWER_BYTES``. The first resource beyond that, and
  all after it, get an error.
"""

from typing import Final

from librt.strings import BytesWriter, write_i16_be, write_i32_be

from moldau.broker.dispatch import MAX_ANSWER_BYTES, answer_too_large
from moldau.errors import ApiError
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from moldau.protocol.primitives import Part
from moldau.protocol.writing import (
    write_compact_nullable_string,
    write_compact_string,
    write_i8,
    write_nullable_string,
    write_string,
    write_uvarint,
)

# Settings below this size are copied: a separate buffer would cost more.
COPIED_BYTES: Final = 1024
# The bytes before the settings, in a response with one resource without a name: throttle time,
# number of resources, error code and message, type, name.
_BEFORE_COMPACT: Final = 4 + 1 + 2 + 1 + 1 + 1
_BEFORE: Final = 4 + 4 + 2 + 2 + 1 + 2


class ConfigAnswer:
    """A response to which results are added one after the other."""

    __slots__ = (
        "_count",
        "_is_flexible",
        "_is_full",
        "_max_bytes",
        "_parts",
        "_size_bytes",
        "_writer",
    )

    def __init__(self, version: int, max_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._is_flexible = version >= DescribeConfigsResponse.FIRST_FLEXIBLE
        self._max_bytes = max_bytes
        self._parts: list[Part] = []
        self._writer = BytesWriter()
        self._count = 0
        # Of the settings only: everything else is bounded by the request.
        self._size_bytes = 0
        self._is_full = False

    def check_room(self) -> None:
        """Raise ApiError(INVALID_REQUEST) if the response has reached its maximum size."""
        if self._is_full:
            raise answer_too_large()

    def add(self, resource_type: int, name: str, settings: bytes) -> None:
        """Add a resource with ``settings`` from ``encode_settings``.

        Raises:
            ApiError: INVALID_REQUEST if the response would exceed its maximum size.
        """
        self._is_full = self._is_full or self._size_bytes + len(settings) > self._max_bytes
        self.check_room()
        self._size_bytes += len(settings)
        self._begin(0, "", resource_type, name)
        if len(settings) <= COPIED_BYTES:
            self._writer.write(settings)
        else:
            self._parts.append(self._writer.getvalue())
            self._parts.append(settings)
            self._writer.truncate(0)

    def add_error(self, resource_type: int, name: str, error: ApiError) -> None:
        self._begin(int(error.code), error.message, resource_type, name)
        if self._is_flexible:
            # No settings, and no tagged fields.
            write_uvarint(self._writer, 1)
            write_uvarint(self._writer, 0)
        else:
            write_i32_be(self._writer, 0)

    def _begin(self, code: int, message: str | None, resource_type: int, name: str) -> None:
        writer = self._writer
        self._count += 1
        write_i16_be(writer, code)
        if self._is_flexible:
            write_compact_nullable_string(writer, message)
            write_i8(writer, resource_type)
            write_compact_string(writer, name)
        else:
            write_nullable_string(writer, message)
            write_i8(writer, resource_type)
            write_string(writer, name)

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        head = BytesWriter()
        head.write(writer_prefix)
        write_i32_be(head, 0)
        if self._is_flexible:
            write_uvarint(head, self._count + 1)
            write_uvarint(self._writer, 0)
        else:
            write_i32_be(head, self._count)
        return [head.getvalue(), *self._parts, self._writer.getvalue()]


def encode_settings(configs: list[DescribeConfigsResourceResult], version: int) -> bytes:
    """The encoded settings of a resource, and the rest of its result."""
    result = DescribeConfigsResult(configs=configs)
    encoded = DescribeConfigsResponse(results=[result]).encode(version)
    if version >= DescribeConfigsResponse.FIRST_FLEXIBLE:
        # The last byte means that the response has no tagged fields.
        return encoded[_BEFORE_COMPACT:-1]
    return encoded[_BEFORE:]
