"""Identifiers that every layer uses.

Inside the broker a uuid is 16 raw ``bytes``, as on the wire and on disk; the base64 form is used
only for display and in text files.
"""

import base64
import random
from typing import Final, NamedTuple

NO_UUID: Final = bytes(16)
# Kafka reserves the uuid with value 1 for the metadata topic.
METADATA_TOPIC_ID: Final = bytes(15) + b"\x01"
METADATA_TOPIC: Final = "__cluster_metadata"
OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTIONS_TOPIC: Final = "__transaction_state"
SHARE_STATE_TOPIC: Final = "__share_group_state"

INTERNAL_TOPICS: Final = frozenset((OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC))


class TopicPartition(NamedTuple):
    """One partition of one topic; its string form is the name of its directory."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def new_uuid(rng: random.Random) -> bytes:
    """A random (version 4) uuid whose text form does not begin with a dash.

    On a command line, a leading dash would be read as an option; Kafka avoids it for the same
    reason. The reserved ids (zero and one) cannot occur, since the version bits are never zero.
    """
    while True:
        raw = bytearray(rng.randbytes(16))
        raw[6] = (raw[6] & 0x0F) | 0x40
        raw[8] = (raw[8] & 0x3F) | 0x80
        uuid = bytes(raw)
        if not uuid_to_str(uuid).startswith("-"):
            return uuid


def uuid_to_str(uuid: bytes) -> str:
    """Kafka's text form: url-safe base64 without padding, 22 characters."""
    return base64.urlsafe_b64encode(uuid).rstrip(b"=").decode("ascii")


def uuid_from_str(text: str) -> bytes:
    """Raises ValueError, naming ``text``, if it is not 22 characters of base64."""
    try:
        uuid = base64.urlsafe_b64decode(text + "==")
    except ValueError:
        uuid = b""
    if len(uuid) != 16:
        raise ValueError(f"{text!r} is not a uuid: expected 22 characters of url-safe base64")
    return uuid
