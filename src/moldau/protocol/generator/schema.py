"""The text schema: its syntax, and the model it is parsed into.

A file describes one API (``produce.txt``) or one family of records
(``metadata_records.txt``). An API file begins with a line about the API::

    api Produce key=0 versions=3-13 flexible=9+ listeners=broker

and holds a ``request`` and a ``response``; a record file holds ``record`` (metadata log),
``key`` and ``value`` (coordinator logs) or ``data`` messages, each with ``versions`` and
``flexible`` on its own line. Fields follow, indented::

    name type [versions] [tag=N] [default=X] [ignorable] [packed]

* ``versions``: ``5+``, ``3-12`` or ``7``; omitted if the field is in every version of the
  enclosing struct or message.
* ``type``: a number, ``bool``, ``string``, ``bytes``, ``uuid``, ``records``, a struct, or
  ``[type]``. A trailing ``?`` allows null (``?10+``: from version 10).
* ``tag``: a tagged field (KIP-482). ``default``: the value if the version lacks the field or
  the tag is not sent; otherwise zero, empty, or a struct of defaults.
* ``ignorable``: a value is dropped if the version lacks the field; otherwise that is an error.
* ``packed``: an array of structs of 64-bit numbers that may also be given as ``packed_name``, rows
  of a file that contain them (``PackedRows``). Thousands of them are copied then, without an object
  for each. A decoded message has them as rows too, until the attribute of the items is read.

The fields of a struct are indented under its first use, or listed in a ``struct`` block; its
name is valid in the whole file. Lines beginning with ``#`` are comments.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HIGHEST = 32767
FIXED_SIZES = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
}
VARIABLE_TYPES = ("string", "bytes", "records")


class SchemaError(ValueError):
    """A line with a syntax error."""


@dataclass(frozen=True)
class Versions:
    """An inclusive range."""

    lowest: int
    highest: int

    @classmethod
    def parse(cls, text: str) -> "Versions | None":
        if text == "none":
            return None
        match = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", text)
        if match is None:
            raise SchemaError(f"{text!r} is not a range of versions")
        lowest = int(match[1])
        if match[2]:
            return cls(lowest, HIGHEST)
        return cls(lowest, int(match[3]) if match[3] else lowest)

    def __contains__(self, version: int) -> bool:
        return self.lowest <= version <= self.highest

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.lowest, self.highest + 1))

    def __str__(self) -> str:
        if self.lowest == self.highest:
            return f"{self.lowest}"
        return f"{self.lowest}-{self.highest}"


@dataclass
class Field:
    name: str
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions | None
    tag: int | None
    default: str | None
    ignorable: bool
    struct: "Struct | None" = None
    is_packed: bool = False

    @property
    def is_struct(self) -> bool:
        return self.type not in FIXED_SIZES and self.type not in VARIABLE_TYPES

    @property
    def default_is_null(self) -> bool:
        # Records that may be null are null by default, without saying so.
        is_records = self.type == "records" and self.nullable is not None
        return self.default == "null" or is_records

    @property
    def can_be_null(self) -> bool:
        return self.nullable is not None or self.default_is_null


@dataclass
class Struct:
    name: str
    fields: list[Field] = field(default_factory=list)

    @property
    def fixed_size(self) -> int:
        """The size of its fields, all of which have a fixed one. Raises KeyError."""
        return sum(FIXED_SIZES[f.type] for f in self.fields)

    def has_records(self) -> bool:
        """Whether it contains record batches, at any depth."""
        return any(
            f.type == "records" or (f.struct is not None and f.struct.has_records())
            for f in self.fields
        )


@dataclass
class Message:
    kind: str
    name: str
    key: int | None
    versions: Versions
    first_flexible: int
    fields: Struct

    def is_flexible(self, version: int) -> bool:
        return 0 <= self.first_flexible <= version


@dataclass
class Api:
    name: str
    key: int
    versions: Versions
    first_flexible: int
    listeners: tuple[str, ...]
    latest_unstable: bool


@dataclass
class SchemaFile:
    name: str
    api: Api | None
    messages: list[Message]
    # Sorted so that every struct comes after those it uses.
    structs: list[Struct]


def _attributes(tokens: list[str]) -> dict[str, str]:
    return dict(token.partition("=")[::2] for token in tokens)


def _parse_field(line: str, within: Versions) -> Field:
    name, type_text, *rest = line.split()
    match = re.fullmatch(r"(\[?)(\w+)(\]?)(?:(\?)(\S*))?", type_text)
    if match is None or bool(match[1]) != bool(match[3]):
        raise SchemaError(f"{type_text!r} is not a type")
    versions = within
    if rest and rest[0][0].isdigit():
        parsed = Versions.parse(rest.pop(0))
        assert parsed is not None
        versions = Versions(parsed.lowest, min(parsed.highest, within.highest))
    nullable = None
    if match[4]:
        nullable = Versions.parse(match[5]) if match[5] else versions
    attributes = _attributes(rest)
    return Field(
        name=name,
        type=match[2],
        is_array=bool(match[1]),
        versions=versions,
        nullable=nullable,
        tag=int(attributes["tag"]) if "tag" in attributes else None,
        default=attributes.get("default"),
        ignorable="ignorable" in attributes,
        is_packed="packed" in attributes,
    )


class _Parser:
    def __init__(self, name: str) -> None:
        self.file = SchemaFile(name, None, [], [])
        self.structs: dict[str, Struct] = {}
        self.versions = Versions(0, HIGHEST)
        # For each indentation depth, the struct and its versions.
        self.open: list[tuple[Struct, Versions]] = []

    def feed(self, line: str) -> None:
        depth = (len(line) - len(line.lstrip(" "))) // 2
        if depth == 0:
            self._top_level(line.split())
            return
        del self.open[depth:]
        struct, within = self.open[-1]
        parsed = _parse_field(line, within)
        struct.fields.append(parsed)
        if parsed.is_struct:
            parsed.struct = self.structs.setdefault(parsed.type, Struct(parsed.type))
            self.open.append((parsed.struct, parsed.versions))

    def _top_level(self, tokens: list[str]) -> None:
        kind, name, *rest = tokens
        attributes = _attributes(rest)
        if kind == "struct":
            struct = self.structs.setdefault(name, Struct(name))
            self.open = [(struct, self.versions)]
            return
        api = self.file.api
        if kind in ("request", "response"):
            assert api is not None
            key, versions, first_flexible = api.key, api.versions, api.first_flexible
        else:
            parsed = Versions.parse(attributes["versions"])
            assert parsed is not None
            versions = parsed
            flexible = Versions.parse(attributes["flexible"])
            first_flexible = -1 if flexible is None else flexible.lowest
            key = int(attributes.get("key", "-1"))
        self.versions = versions
        if kind == "api":
            listeners = tuple(attributes["listeners"].split(","))
            unstable = "latest-unstable" in attributes
            self.file.api = Api(name, key, versions, first_flexible, listeners, unstable)
            return
        if kind not in ("request", "response", "record", "key", "value", "data"):
            raise SchemaError(f"{kind!r} is not a kind of message")
        message = Message(kind, name, key, versions, first_flexible, Struct(name))
        self.file.messages.append(message)
        self.open = [(message.fields, versions)]

    def finish(self) -> SchemaFile:
        seen: dict[str, Struct] = {}

        def visit(struct: Struct) -> None:
            for inner in struct.fields:
                if inner.struct is not None and inner.type not in seen:
                    if not inner.struct.fields:
                        raise SchemaError(f"struct {inner.type} has no fields")
                    visit(inner.struct)
                    seen[inner.type] = inner.struct

        for message in self.file.messages:
            visit(message.fields)
        self.file.structs = list(seen.values())
        return self.file


def parse(name: str, text: str) -> SchemaFile:
    """Parse the text of one file. Raises SchemaError naming file and line."""
    parser = _Parser(name)
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            parser.feed(line)
        except (ValueError, IndexError, KeyError, AssertionError) as error:
            raise SchemaError(f"{name}.txt, line {number}: {error!r} in {line!r}") from error
    return parser.finish()


def load(directory: Path) -> list[SchemaFile]:
    """All files of the schema: APIs sorted by key, then records sorted by name."""
    files = [parse(path.stem, path.read_text()) for path in sorted(directory.glob("*.txt"))]
    return sorted(files, key=lambda f: (f.api.key if f.api else HIGHEST, f.name))
