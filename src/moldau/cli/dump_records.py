"""Decoders for the records of internal topics, the same in Moldau and Kafka.

Coordinators store their state as records: a key begins with the number of its type and a value
with its version, two bytes each, followed by a message of the schema. Metadata records and control
records have their own framing. Each decoder turns a record into fields to print; bytes that it
cannot decode are shown unchanged, with the reason.
"""

from enum import StrEnum
from types import ModuleType
from typing import Any, Final

from moldau.ids import (
    METADATA_TOPIC,
    OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTIONS_TOPIC,
    uuid_to_str,
)
from moldau.metadata.framing import decode_record
from moldau.protocol.message import Message, Struct
from moldau.protocol.primitives import MalformedMessage
from moldau.protocol.records import (
    client_data,
    group_coordinator,
    offset_commit,
    share_coordinator,
    transaction_coordinator,
)
from moldau.record.control import ControlType, decode_control_key
from moldau.record.records import Record

Fields = dict[str, Any]


class Decoder(StrEnum):
    """A kind of internal record; the value is the name of its option."""

    OFFSETS = "offsets-decoder"
    TRANSACTIONS = "transaction-log-decoder"
    SHARE_STATE = "share-group-state-decoder"
    METADATA = "cluster-metadata-decoder"


_DECODER_OF_TOPIC: Final = {
    OFFSETS_TOPIC: Decoder.OFFSETS,
    TRANSACTIONS_TOPIC: Decoder.TRANSACTIONS,
    SHARE_STATE_TOPIC: Decoder.SHARE_STATE,
    METADATA_TOPIC: Decoder.METADATA,
}

_UUID_SIZE: Final = 16
_CONTROL_VALUES: Final[dict[int, type[Message]]] = {
    ControlType.ABORT: client_data.EndTxnMarker,
    ControlType.COMMIT: client_data.EndTxnMarker,
    ControlType.LEADER_CHANGE: client_data.LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: client_data.SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: client_data.SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: client_data.KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: client_data.VotersRecord,
}


def decoder_of(directory: str) -> Decoder | None:
    """The decoder for a partition's directory; None for topics that are not internal."""
    return _DECODER_OF_TOPIC.get(directory.rpartition("-")[0])


def decode_fields(decoder: Decoder, record: Record) -> Fields:
    """The fields to print for a record that is not a control record."""
    if decoder is Decoder.METADATA:
        return _metadata(record)
    return _coordinator(_PAIRS[decoder], record)


def control_fields(record: Record) -> Fields:
    """The fields to print for a control record."""
    kind = decode_control_key(record.key)
    name = ControlType(kind).name if kind in ControlType.__members__.values() else str(kind)
    value_class = _CONTROL_VALUES.get(kind)
    if value_class is None or record.value is None:
        return {"control": name, "payload": shown_bytes(record.value)}
    version = min(int.from_bytes(record.value[:2], "big"), value_class.MAX_VERSION)
    # All of them begin with the version, which most also have as a field.
    position = 0 if "version" in value_class.FIELDS else 2
    try:
        value, _ = value_class.decode(record.value, position, version)
    except (MalformedMessage, ValueError) as error:
        return {"control": name, "problem": str(error)}
    return {"control": name, "data": plain(value)}


def plain(value: Any) -> Any:
    """A message as dictionaries and lists, with uuids in Kafka's text form."""
    if isinstance(value, Struct):
        return {name: plain(getattr(value, name)) for name in value.FIELDS}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bytes | memoryview):
        raw = bytes(value)
        return uuid_to_str(raw) if len(raw) == _UUID_SIZE else raw.hex()
    return value


def shown_bytes(raw: bytes | None) -> str | None:
    """Printable text unchanged, other bytes as hexadecimal digits after 0x."""
    if raw is None:
        return None
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return f"0x{raw.hex()}"
    is_text = all(char.isprintable() or char in "\t\n\r" for char in text)
    return text if is_text else f"0x{raw.hex()}"


# -- metadata


def _metadata(record: Record) -> Fields:
    try:
        message = decode_record(record.value or b"")
    except (MalformedMessage, ValueError) as error:
        return {"problem": str(error), "payload": shown_bytes(record.value)}
    version = record.value[2] if record.value else 0
    return {"type": type(message).__name__, "version": version, "data": plain(message)}


# -- coordinators

_Pairs = dict[int, tuple[type[Message], type[Message]]]


def _pairs(module: ModuleType) -> _Pairs:
    """Key and value classes by the number that a key begins with."""
    keys: dict[int, type[Message]] = {}
    values: dict[int, type[Message]] = {}
    for name, candidate in vars(module).items():
        is_message = isinstance(candidate, type) and issubclass(candidate, Message)
        if is_message and candidate.RECORD_KEY >= 0:
            (keys if name.endswith("Key") else values)[candidate.RECORD_KEY] = candidate
    return {number: (key, values[number]) for number, key in keys.items()}


_PAIRS: Final[dict[Decoder, _Pairs]] = {
    Decoder.OFFSETS: _pairs(offset_commit) | _pairs(group_coordinator),
    Decoder.TRANSACTIONS: _pairs(transaction_coordinator),
    Decoder.SHARE_STATE: _pairs(share_coordinator),
}


def _coordinator(pairs: _Pairs, record: Record) -> Fields:
    key = record.key or b""
    number = int.from_bytes(key[:2], "big")
    classes = pairs.get(number) if len(key) >= 2 else None
    if classes is None:
        return _undecoded(record, f"unknown record type {number}")
    key_class, value_class = classes
    try:
        name = key_class.__name__.removesuffix("Key")
        fields: Fields = {"type": name, "key": plain(key_class.decode(key, 2, 0)[0])}
        if record.value is None:
            # A tombstone.
            return {**fields, "payload": None}
        version = int.from_bytes(record.value[:2], "big")
        _check_version(value_class, version)
        value, _ = value_class.decode(record.value, 2, version)
    except (MalformedMessage, ValueError) as error:
        return _undecoded(record, str(error))
    return {**fields, "version": version, "payload": _value(value)}


def _check_version(value_class: type[Message], version: int) -> None:
    low, high = value_class.MIN_VERSION, value_class.MAX_VERSION
    if not low <= version <= high:
        raise ValueError(f"{value_class.__name__} version {version}: expected {low} to {high}")


def _undecoded(record: Record, problem: str) -> Fields:
    return {
        "problem": problem,
        "key": shown_bytes(record.key),
        "payload": shown_bytes(record.value),
    }


def _value(value: Message) -> Any:
    shown = plain(value)
    if isinstance(value, group_coordinator.GroupMetadataValue) and (
        value.protocol_type == "consumer"
    ):
        # The coordinator does not read these fields, but their format is known here.
        for member, fields in zip(value.members, shown["members"], strict=True):
            fields["subscription"] = _agreed(
                client_data.ConsumerProtocolSubscription, member.subscription
            )
            fields["assignment"] = _agreed(
                client_data.ConsumerProtocolAssignment, member.assignment
            )
    return shown


def _agreed(message_class: type[Message], raw: bytes) -> Any:
    """Decode a field of the consumer protocol; bytes of another protocol are shown in hex."""
    version = min(int.from_bytes(raw[:2], "big"), message_class.MAX_VERSION)
    try:
        return plain(message_class.decode(bytes(raw), 2, version)[0])
    except (MalformedMessage, ValueError):
        return bytes(raw).hex()
