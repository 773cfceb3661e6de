"""Write records to a topic, one per line, from standard input or a file.

echo hello | moldau produce greetings
moldau produce orders --key-separator : < lines.txt
moldau produce orders --format json --file orders.jsonl --compression-codec zstd
echo cafe | moldau produce raw --format hex --header source=test
"""

import argparse
import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

from moldau.cli.errors import CommandError, UsageError
from moldau.cli.field_formats import FORMATS_HELP, FieldFormat, parse_format
from moldau.cli.option_types import count, positive_int, positive_seconds
from moldau.cli.output import add_bootstrap, plural, security_of
from moldau.cli.progress import Progress
from moldau.cli.record_input import (
    InputRecord,
    LineFormat,
    encoded,
    line_parser,
    parse_json_line,
)
from moldau.cli.times import parse_time
from moldau.client.batches import Delivery
from moldau.client.producer import CODECS, Producer
from moldau.errors import ApiError

_READ_BYTES = 1 << 18
_BATCH_BYTES = 16_384
_FILE_BATCH_BYTES = 262_144
_ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="TOPIC", help="the topic to write to")
    parser.add_argument("--topic", metavar="TOPIC", help=argparse.SUPPRESS)
    parser.add_argument("--file", metavar="PATH", help="read a file instead of standard input")
    parser.add_argument(
        "--format",
        choices=("text", "json", "hex"),
        default="text",
        help="the format of a line (default: text)",
    )
    parser.add_argument("--key-format", metavar="FORMAT", help=f"encode the key as {FORMATS_HELP}")
    parser.add_argument("--value-format", metavar="FORMAT", help="encode the value likewise")
    lines = parser.add_argument_group("lines of text or hex (default: the line is the value)")
    lines.add_argument(
        "--key-separator",
        metavar="TEXT",
        help="what separates the key, which comes first, from the value",
    )
    lines.add_argument(
        "--parse-headers", action="store_true", help="the line begins with name:value,... and a tab"
    )
    lines.add_argument("--null-marker", metavar="TEXT", help="a key or value that means null")
    lines.add_argument(
        "--property",
        "--reader-property",
        metavar="K=V",
        action="append",
        default=[],
        help="a property of Kafka's console producer: parse.key, key.separator, ...",
    )
    same = parser.add_argument_group("every record gets")
    same.add_argument("--key", metavar="TEXT", help="this key, unless the line has one")
    same.add_argument(
        "--header",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="this header; may be repeated",
    )
    same.add_argument("--partition", type=count, metavar="N", help="this partition")
    same.add_argument(
        "--timestamp",
        metavar="TIME",
        help="this timestamp: ISO 8601, milliseconds since 1970, or an age (2h)",
    )
    _add_sending(parser)
    add_bootstrap(parser)


def _add_sending(parser: argparse.ArgumentParser) -> None:
    sending = parser.add_argument_group("sending")
    sending.add_argument(
        "--acks",
        "--request-required-acks",
        choices=_ACKS,
        default="all",
        help="the replicas that must have a record before it is acknowledged (default: all)",
    )
    sending.add_argument(
        "--compression-codec", choices=CODECS, default="none", help="default: none"
    )
    sending.add_argument(
        "--batch-size",
        type=positive_int,
        metavar="BYTES",
        help=f"the batch size (default: {_BATCH_BYTES}, or {_FILE_BATCH_BYTES} from a file)",
    )
    sending.add_argument(
        "--linger-ms",
        type=count,
        default=5,
        metavar="MS",
        help="how long a batch waits for more records (default: 5)",
    )
    sending.add_argument(
        "--delivery-timeout",
        type=positive_seconds,
        default=120.0,
        metavar="SECONDS",
        help="how long to try to deliver a record (default: 120)",
    )


def run(options: argparse.Namespace) -> int:
    topic = options.name or options.topic
    if not topic:
        raise UsageError("produce: a topic name is required")
    parse = _parser(options)
    source: BinaryIO
    if options.file and options.file != "-":
        with open(options.file, "rb", buffering=0) as source:
            return _produce(topic, source, parse, options)
    if sys.stdin is None:
        raise CommandError("produce: standard input is closed; pipe lines into it, or use --file")
    return _produce(topic, sys.stdin.buffer, parse, options)


def _produce(
    topic: str,
    source: BinaryIO,
    parse: Callable[[bytes], InputRecord],
    options: argparse.Namespace,
) -> int:
    status = os.fstat(source.fileno())
    is_file = stat.S_ISREG(status.st_mode)
    progress = Progress(status.st_size if is_file else None)
    counts = _Counts()
    producer = Producer(
        options.bootstrap_server,
        acks=_ACKS[options.acks],
        compression=options.compression_codec,
        batch_size=options.batch_size or (_FILE_BATCH_BYTES if is_file else _BATCH_BYTES),
        linger_ms=options.linger_ms,
        timeout_s=options.request_timeout,
        security=security_of(options),
        delivery_timeout_s=options.delivery_timeout,
    )
    try:
        done_bytes = 0
        for line in read_lines(source, producer.flush, options.linger_ms / 1000):
            counts.lines += 1
            done_bytes += len(line) + 1
            try:
                record = parse(line)
                _send(producer, topic, record, counts)
            except (CommandError, ApiError) as error:
                producer.flush()
                raise CommandError(f"line {counts.lines}: {error}") from None
            progress.update(done_bytes, counts.delivered)
            if counts.first_error is not None:
                break
        producer.flush()
    except KeyboardInterrupt:
        producer.flush()
        raise
    finally:
        progress.finish()
        producer.close()
    return counts.report(is_shown=is_file and sys.stderr.isatty())


class _Counts:
    """How many records were read, delivered and refused."""

    def __init__(self) -> None:
        self.lines = 0
        self.delivered = 0
        self.failed = 0
        self.first_error: ApiError | None = None
        self._started_s = time.monotonic()

    def on_delivery(self, delivery: Delivery) -> None:
        if delivery.error is None:
            self.delivered += 1
        else:
            self.failed += 1
            self.first_error = self.first_error or delivery.error

    def report(self, *, is_shown: bool) -> int:
        if self.first_error is not None:
            total = plural(self.delivered + self.failed, "record")
            error = self.first_error
            raise CommandError(
                f"{self.failed} of {total} could not be delivered: {error} ({error.code.name})"
            )
        if is_shown:
            elapsed_s = time.monotonic() - self._started_s
            print(f"{plural(self.delivered, 'record')} in {elapsed_s:.1f} s.", file=sys.stderr)
        return 0


def _send(producer: Producer, topic: str, record: InputRecord, counts: _Counts) -> None:
    producer.send(
        topic,
        record.value,
        record.key,
        partition=record.partition,
        timestamp=record.timestamp,
        headers=record.headers,
        on_delivery=counts.on_delivery,
    )


def read_lines(source: BinaryIO, on_pause: Callable[[], None], pause_s: float) -> Iterator[bytes]:
    """The lines of ``source``, without their line ends.

    ``on_pause`` is called when no input has arrived for ``pause_s``, before waiting for more, so
    that lines already read are not held back.
    """
    descriptor = source.fileno()
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    pending = bytearray()
    has_unsent = False
    while True:
        if has_unsent and not poll.poll(pause_s * 1000):
            on_pause()
            has_unsent = False
        chunk = os.read(descriptor, _READ_BYTES)
        if not chunk:
            break
        *lines, rest = (bytes(pending) + chunk).split(b"\n")
        pending = bytearray(rest)
        for line in lines:
            yield line.removesuffix(b"\r")
            has_unsent = True
    if pending:
        yield bytes(pending).removesuffix(b"\r")


def _parser(options: argparse.Namespace) -> Callable[[bytes], InputRecord]:
    """A function from a line to a record, with what the options set for every record."""
    wall_ms = time.time_ns() // 1_000_000
    timestamp = (
        None if options.timestamp is None else parse_time(options.timestamp, wall_ms, "--timestamp")
    )
    form = _line_format(options)
    key = None if options.key is None else options.key.encode("utf-8", "surrogateescape")
    if key is not None and form.key_format is not None:
        key = encoded(form.key_format.from_text, key)
    headers = []
    for text in options.header:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--header {text}: expected name=value")
        headers.append((name, value.encode("utf-8", "surrogateescape")))
    extra = tuple(headers)
    parse_line = line_parser(form)

    def parse(line: bytes) -> InputRecord:
        if options.format == "json":
            given = parse_json_line(line, wall_ms, form.key_format, form.value_format)
        else:
            given = parse_line(line)
        return InputRecord(
            key if given.key is None else given.key,
            given.value,
            given.headers + extra,
            options.partition if given.partition is None else given.partition,
            timestamp if given.timestamp is None else given.timestamp,
        )

    return parse


def _line_format(options: argparse.Namespace) -> LineFormat:
    """How lines are read, from this command's options and from Kafka's ``--property``."""
    given = {}
    for text in options.property:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--property {text}: expected key=value")
        given[name] = value
    has_key = options.key_separator is not None or given.get("parse.key", "false") == "true"
    separator = options.key_separator or given.get("key.separator", "\t")
    return LineFormat(
        is_hex=options.format == "hex",
        key_separator=_unescape(separator) if has_key else None,
        has_headers=options.parse_headers or given.get("parse.headers", "false") == "true",
        headers_delimiter=_unescape(given.get("headers.delimiter", "\t")),
        headers_separator=_unescape(given.get("headers.separator", ",")),
        headers_key_separator=_unescape(given.get("headers.key.separator", ":")),
        null_marker=options.null_marker or given.get("null.marker"),
        key_format=_field_format("--key-format", options.key_format),
        value_format=_field_format("--value-format", options.value_format),
    )


def _field_format(option: str, text: str | None) -> FieldFormat | None:
    return None if text is None else parse_format(option, text)


def _unescape(text: str) -> str:
    r"""Replace ``\t`` and ``\n``, which a shell passes on as two characters."""
    return text.replace("\\t", "\t").replace("\\n", "\n")
