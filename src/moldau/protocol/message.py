"""The base classes of generated messages.

``Struct`` is a group of fields inside a message, ``Message`` a whole one. The generated
classes add the constructor, ``decode`` and ``encode``.
"""

from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from moldau.protocol.file_region import Part

# The default of every list argument, recognised by identity: each message gets a new list, and
# None keeps its meaning on the wire, a null array.
NO_ITEMS: Final[list[Any]] = []


class PackedRows:
    """The items of an array as parts of rows, which are ``row_bytes`` long: each begins ``at``."""

    __slots__ = ("at", "data", "row_bytes")

    def __init__(self, data: bytes, row_bytes: int, at: int) -> None:
        self.data = data
        self.row_bytes = row_bytes
        self.at = at

    def __len__(self) -> int:
        return len(self.data) // self.row_bytes


@mypyc_attr(allow_interpreted_subclasses=True)
class Struct:
    """Fields with equality by value. Mutable, therefore not hashable."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    def __copy__(self) -> "Struct":
        # Python's own way loses the fields of a plain class whose base is compiled.
        made: Any = type(self)
        copied: Struct = made(*[getattr(self, name) for name in self.FIELDS])
        return copied

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.FIELDS)
        return f"{type(self).__name__}({fields})"


@mypyc_attr(allow_interpreted_subclasses=True)
class Message(Struct):
    """A request, a response or the body of a record."""

    __slots__ = ()
    # The API key of requests and responses, -1 for other messages.
    API_KEY: ClassVar[int] = -1
    # The type of a record in a metadata or coordinator log, -1 for other messages.
    RECORD_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    # The first version with compact strings and tagged fields, -1 if there is none.
    FIRST_FLEXIBLE: ClassVar[int] = -1

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> "tuple[Message, int]":
        """The message that begins at ``position``, and the position after it.

        Raises:
            MalformedMessage: the bytes are not such a message.
        """
        raise NotImplementedError

    def encode(self, version: int) -> bytes:
        """The message as bytes.

        Raises:
            ValueError: a field has a value that ``version`` cannot represent.
        """
        raise NotImplementedError

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        """Like ``encode``, after ``writer_prefix``, without copying large records."""
        raise NotImplementedError
