"""The formats of a key or value: how its bytes are shown, and how they are made from input.

The names are those of ``--key-format`` and ``--value-format``:

* ``text`` (or ``string``), ``hex`` and ``json``;
* ``int``, ``long``, ``float``, ``double``: the bytes of Kafka's serializers, big-endian;
* ``avro:FILE``: Avro by the schema in that file, shown in Avro's JSON encoding, like Confluent's
  Avro console tools do; ``avro:FILE#ID`` if a schema registry's header with that id comes first;
* ``windowed:FORMAT``: the key and the start of its window, as Kafka Streams writes windowed keys,
  shown as ``key@start``; ``session:FORMAT``: with the end as well, shown as ``key@start/end``.

Every format works both ways, as text and as a JSON value. A ValueError says why bytes or input do
not match.
"""

import json
import math
import struct
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, Final

from moldau.cli.errors import UsageError
from moldau.cli.times import format_time, parse_time

_TIME: Final = struct.Struct(">q")


class FieldFormat(ABC):
    """One way to show a key or value, and to read it back."""

    def to_text(self, raw: bytes) -> bytes:
        """For a line of text."""
        return json.dumps(self.to_json(raw), ensure_ascii=False).encode()

    def from_text(self, text: bytes) -> bytes:
        """From part of a line of text."""
        return self.from_json(_parse_json(text))

    @abstractmethod
    def to_json(self, raw: bytes) -> Any:
        """For a JSON document."""

    @abstractmethod
    def from_json(self, value: Any) -> bytes:
        """From part of a JSON document."""


class _Text(FieldFormat):
    def to_text(self, raw: bytes) -> bytes:
        return raw

    def from_text(self, text: bytes) -> bytes:
        return text

    def to_json(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{raw.hex()} is not UTF-8") from None

    def from_json(self, value: Any) -> bytes:
        return value.encode() if isinstance(value, str) else _dump_json(value)


class _Hex(FieldFormat):
    def to_text(self, raw: bytes) -> bytes:
        return raw.hex().encode()

    def from_text(self, text: bytes) -> bytes:
        try:
            return bytes.fromhex(text.decode("ascii"))
        except ValueError:
            raise ValueError(f"{_shown(text)} is not hexadecimal") from None

    def to_json(self, raw: bytes) -> str:
        return raw.hex()

    def from_json(self, value: Any) -> bytes:
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not a string of hexadecimal digits")
        return self.from_text(value.encode())


class _Json(FieldFormat):
    def to_text(self, raw: bytes) -> bytes:
        return _dump_json(self.to_json(raw))

    def to_json(self, raw: bytes) -> Any:
        return _parse_json(raw)

    def from_json(self, value: Any) -> bytes:
        return _dump_json(value)


class _Number(FieldFormat):
    """A number of fixed length; ``code`` is its format in ``struct``."""

    def __init__(self, name: str, code: str) -> None:
        self.name = name
        self._layout = struct.Struct(f">{code}")
        self._is_real = code in "fd"

    def to_text(self, raw: bytes) -> bytes:
        return str(self._load(raw)).encode()

    def from_text(self, text: bytes) -> bytes:
        try:
            number = float(text) if self._is_real else int(text)
        except ValueError:
            raise ValueError(f"{_shown(text)} is not {self._a_number}") from None
        return self._dump(number)

    def to_json(self, raw: bytes) -> int | float | str:
        number = self._load(raw)
        # JSON has no NaN and no infinity.
        return number if math.isfinite(number) else str(number)

    def from_json(self, value: Any) -> bytes:
        if isinstance(value, str):
            return self.from_text(value.encode())
        is_number = isinstance(value, int) or (self._is_real and isinstance(value, float))
        if not is_number or isinstance(value, bool):
            raise ValueError(f"{value!r} is not {self._a_number}")
        return self._dump(value)

    @property
    def _a_number(self) -> str:
        return f"{'an' if self.name == 'int' else 'a'} {self.name}"

    def _load(self, raw: bytes) -> int | float:
        if len(raw) != self._layout.size:
            raise ValueError(f"{self._a_number} has {self._layout.size} bytes, not {len(raw)}")
        number: int | float = self._layout.unpack(raw)[0]
        return _shortest(number) if self.name == "float" and math.isfinite(number) else number

    def _dump(self, number: float) -> bytes:
        try:
            return self._layout.pack(number)
        except (struct.error, OverflowError):
            size = self._layout.size
            raise ValueError(f"{number} does not fit {self._a_number} of {size} bytes") from None


class _Windowed(FieldFormat):
    """A key with the window it was counted in (``moldau.streams.windowed_keys``).

    Behind the key come the end of a session, if it is one, and the start.
    """

    def __init__(self, inner: FieldFormat, *, is_session: bool) -> None:
        self._inner = inner
        self._times = ("start", "end") if is_session else ("start",)

    def to_text(self, raw: bytes) -> bytes:
        key, times = self._split(raw)
        return self._inner.to_text(key) + b"@" + "/".join(map(_window_text, times)).encode()

    def from_text(self, text: bytes) -> bytes:
        key, _, window = text.rpartition(b"@")
        times = window.decode("utf-8", "replace").split("/")
        if b"@" not in text or len(times) != len(self._times):
            wanted = "/".join(self._times)
            raise ValueError(f"{_shown(text)} is not a windowed key: write key@{wanted}")
        return self._join(self._inner.from_text(key), [_window_time(each) for each in times])

    def to_json(self, raw: bytes) -> dict[str, Any]:
        key, times = self._split(raw)
        return {"key": self._inner.to_json(key), **dict(zip(self._times, times, strict=True))}

    def from_json(self, value: Any) -> bytes:
        if not isinstance(value, dict) or value.keys() != {"key", *self._times}:
            wanted = ", ".join(("key", *self._times))
            raise ValueError(f"{value!r} is not a windowed key: it needs {wanted}")
        times = [_window_time(str(value[name])) for name in self._times]
        return self._join(self._inner.from_json(value["key"]), times)

    def _split(self, raw: bytes) -> tuple[bytes, list[int]]:
        end = len(raw) - _TIME.size * len(self._times)
        if end < 0:
            raise ValueError(f"{len(raw)} bytes are too few for a window")
        return raw[:end], [each for (each,) in _TIME.iter_unpack(raw[end:])][::-1]

    @staticmethod
    def _join(key: bytes, times: list[int]) -> bytes:
        return key + b"".join(_TIME.pack(each) for each in reversed(times))


TEXT: Final = _Text()
HEX: Final = _Hex()
_PLAIN: Final[dict[str, FieldFormat]] = {
    "text": TEXT,
    "string": TEXT,
    "hex": HEX,
    "json": _Json(),
    "int": _Number("int", "i"),
    "long": _Number("long", "q"),
    "float": _Number("float", "f"),
    "double": _Number("double", "d"),
}
FORMATS_HELP: Final = (
    "text, hex, json, int, long, float, double, avro:SCHEMA_FILE, windowed:FORMAT or session:FORMAT"
)
# What Kafka's tools call them; the class names end in Serializer or Deserializer.
_KAFKA_CLASSES: Final = {
    "String": "text",
    "ByteArray": "text",
    "Integer": "int",
    "Long": "long",
    "Float": "float",
    "Double": "double",
}


def parse_format(option: str, text: str) -> FieldFormat:
    """The format called ``text``; ``option`` is where it was given. Raises UsageError."""
    if text in _PLAIN:
        return _PLAIN[text]
    kind, colon, rest = text.partition(":")
    if colon and kind in ("windowed", "session"):
        return _Windowed(parse_format(option, rest), is_session=kind == "session")
    if colon and kind == "avro":
        from moldau.cli.avro_format import avro_format

        return avro_format(option, rest)
    raise UsageError(f"{option} {text}: unknown format; use {FORMATS_HELP}")


def parse_kafka_class(option: str, name: str) -> FieldFormat:
    """The format of one of Kafka's serializers or deserializers. Raises UsageError."""
    simple = name.rpartition(".")[2].removesuffix("Serializer").removesuffix("Deserializer")
    if simple not in _KAFKA_CLASSES:
        raise UsageError(
            f"{option}={name}: only Kafka's own classes for {', '.join(_KAFKA_CLASSES)} are "
            "supported; for other formats use --key-format and --value-format"
        )
    return _PLAIN[_KAFKA_CLASSES[simple]]


def _window_time(text: str) -> int:
    if text.removeprefix("-").isdigit():
        return int(text)
    if text[:1].isdigit() and "-" in text:
        # An age such as 2h has no hyphen: it would be another window with every record.
        with suppress(UsageError):
            return parse_time(text, 0)
    raise ValueError(f"{text!r} is not a time: write milliseconds since 1970 or ISO 8601")


def _window_text(time_ms: int) -> str:
    return format_time(time_ms) or str(time_ms)


def _shortest(number: float) -> float:
    """The float with the fewest digits that has the same 32 bits: 0.1, not 0.10000000149."""
    bits = struct.pack(">f", number)
    for digits in range(6, 10):
        short = float(f"{number:.{digits}g}")
        if struct.pack(">f", short) == bits:
            return short
    return number


def _parse_json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{_shown(text)} is not JSON: {error}") from None


def _dump_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("utf-8", "replace"))
