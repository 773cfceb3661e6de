"""What every generated message is: fields, equality, and a version to be written in.

``Struct`` is a group of fields inside a message, ``Message`` a whole one. The generated
classes add the constructor, ``decode`` and ``encode``.
"""

from typing import Any, ClassVar, Final

from mypy_extensions import mypyc_attr

from moldau.protocol.file_region import Part

# The default of every list argument, told apart from a list that was passed by identity:
# each message gets a fresh list, and None stays what it is on the wire, a null array.
NO_ITEMS: Final[list[Any]] = []


@mypyc_attr(allow_interpreted_subclasses=True)
class Struct:
    """Fields with equality by value. Mutable, therefore not hashable."""

    __slots__ = ()
    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.FIELDS)
        return f"{type(self).__name__}({fields})"


@mypyc_attr(allow_interpreted_subclasses=True)
class Message(Struct):
    """A request, a response or the body of a record."""

    __slots__ = ()
    # The API key of requests and responses, -1 for the rest.
    API_KEY: ClassVar[int] = -1
    # What a record of a metadata or coordinator log says it is, -1 for the rest.
    RECORD_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    # The first version with compact strings and tagged fields, -1 if there is none.
    FIRST_FLEXIBLE: ClassVar[int] = -1

    @classmethod
    def decode(cls, data: bytes, position: int, version: int) -> "tuple[Message, int]":
        """The message that begins at ``position``, and the position after it.

        Raises:
            MalformedMessage: the bytes are no such message.
        """
        raise NotImplementedError

    def encode(self, version: int) -> bytes:
        """The message as bytes.

        Raises:
            ValueError: a field holds what ``version`` cannot say.
        """
        raise NotImplementedError

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        """Like ``encode``, after ``writer_prefix``, with large records left uncopied."""
        raise NotImplementedError
