"""Read records from a topic and print them, one per line, until Ctrl-C.

moldau consume greetings --from-beginning
moldau consume orders --from-time 2h --format json
moldau consume orders --partition 0 --offset 100 --max-messages 10 --print-key
moldau consume orders --offset -5 --to-end
moldau consume orders --group billing --from-beginning
moldau consume page-views --key-format windowed:text --value-format long
"""

import argparse
import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

from moldau.cli.errors import CommandError, UsageError
from moldau.cli.field_formats import (
    FORMATS_HELP,
    FieldFormat,
    parse_format,
    parse_kafka_class,
)
from moldau.cli.option_types import count, seconds
from moldau.cli.output import add_bootstrap, plural, security_of
from moldau.cli.partition_lists import parse_partitions
from moldau.cli.record_output import PrintFormat, json_line, line_printer, terminal_line
from moldau.cli.times import parse_time
from moldau.client.consumer import Consumer, ConsumerRecord
from moldau.client.group_consumer import GroupConsumer
from moldau.client.offsets import EARLIEST, LATEST
from moldau.ids import TopicPartition

_POLL_S = 0.5
_PRINTS = ("timestamp", "partition", "offset", "headers", "key")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="TOPIC", help="the topic to read")
    parser.add_argument("--topic", metavar="TOPIC", help=argparse.SUPPRESS)
    where = parser.add_argument_group("where to start (default: new records only)")
    where.add_argument("--partition", metavar="N,N", action="append", help="read only these")
    start = where.add_mutually_exclusive_group()
    start.add_argument("--from-beginning", action="store_true", help="at the earliest record")
    start.add_argument(
        "--offset", metavar="N", help="at an offset, earliest, latest, or -N for the last N records"
    )
    start.add_argument(
        "--from-time",
        metavar="TIME",
        help="at a time: ISO 8601, milliseconds since 1970, or an age (90s, 2h, 7d)",
    )
    where.add_argument(
        "--group",
        metavar="GROUP",
        help="join this consumer group: start at its committed offsets and commit; "
        "--from-beginning applies to partitions without a committed offset",
    )
    end = parser.add_argument_group("when to stop (default: at Ctrl-C or SIGTERM)")
    end.add_argument("--max-messages", type=count, metavar="N", help="after N records")
    end.add_argument(
        "--timeout", type=seconds, metavar="SECONDS", help="when no record arrives for this long"
    )
    end.add_argument("--timeout-ms", type=count, metavar="MS", help=argparse.SUPPRESS)
    end.add_argument("--to-end", action="store_true", help="at the current end of the topic")
    _add_printing(parser)
    parser.add_argument(
        "--isolation-level",
        choices=("read_uncommitted", "read_committed"),
        default="read_uncommitted",
        help="default: read_uncommitted",
    )
    add_bootstrap(parser)


def _add_printing(parser: argparse.ArgumentParser) -> None:
    shown = parser.add_argument_group("what to print")
    shown.add_argument(
        "--format",
        choices=("text", "json", "hex"),
        default="text",
        help="a line of text (default), a JSON object, or hexadecimal digits per record",
    )
    shown.add_argument(
        "--key-format", metavar="FORMAT", help=f"print the key, decoded as {FORMATS_HELP}"
    )
    shown.add_argument(
        "--value-format", metavar="FORMAT", help="decode the value as one of the same formats"
    )
    for part in _PRINTS:
        shown.add_argument(f"--print-{part}", action="store_true", help=f"print the {part} too")
    shown.add_argument(
        "--separator", metavar="TEXT", help="between the parts of a line (default: a tab)"
    )
    shown.add_argument(
        "--property",
        "--formatter-property",
        metavar="K=V",
        action="append",
        default=[],
        help="a property of Kafka's console consumer: print.key, null.literal, ...",
    )


def run(options: argparse.Namespace) -> int:
    topic = options.name or options.topic
    if not topic:
        raise UsageError("consume: a topic name is required")
    to_line = _line_function(options)
    with _consumer(topic, options) as consumer:
        printer = RecordPrinter(consumer, topic, to_line, options)
        # Ctrl-C is the usual way to stop it; only whole lines have been printed.
        with contextlib.suppress(KeyboardInterrupt), _interrupted_by_sigterm():
            if isinstance(consumer, Consumer):
                partitions = _partitions(consumer, topic, options)
                consumer.assign(_starts(consumer, partitions, options))
            printer.run()
    if sys.stderr.isatty():
        print(f"Read {plural(printer.count, 'record')}.", file=sys.stderr)
    return 0


@contextlib.contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Within this block SIGTERM stops as Ctrl-C does, so that a member leaves its group."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _consumer(topic: str, options: argparse.Namespace) -> Consumer | GroupConsumer:
    read_committed = options.isolation_level == "read_committed"
    if options.group is None:
        return Consumer(
            options.bootstrap_server,
            read_committed=read_committed,
            timeout_s=options.request_timeout,
            security=security_of(options),
        )
    for name in ("partition", "offset", "from_time"):
        if getattr(options, name) is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} cannot be used with --group, which assigns the partitions")
    return GroupConsumer(
        options.bootstrap_server,
        options.group,
        [topic],
        auto_offset_reset="earliest" if options.from_beginning else "latest",
        read_committed=read_committed,
        timeout_s=options.request_timeout,
        security=security_of(options),
    )


def _partitions(
    consumer: Consumer, topic: str, options: argparse.Namespace
) -> list[TopicPartition]:
    numbers = parse_partitions(options.partition)
    existing = consumer.partitions_of(topic)
    if numbers is None:
        return existing
    wanted = [TopicPartition(topic, number) for number in numbers]
    for each in wanted:
        if each not in existing:
            last = len(existing) - 1
            raise UsageError(f"--partition {each.partition}: {topic} has partitions 0 to {last}")
    return wanted


def _starts(
    consumer: Consumer, partitions: list[TopicPartition], options: argparse.Namespace
) -> dict[TopicPartition, int]:
    """The offset to start at, for each partition."""
    text = options.offset or ("earliest" if options.from_beginning else "latest")
    if options.from_time is not None:
        wall_ms = time.time_ns() // 1_000_000
        return consumer.offsets_at(
            dict.fromkeys(partitions, parse_time(options.from_time, wall_ms, "--from-time"))
        )
    if text in ("earliest", "latest"):
        timestamp = EARLIEST if text == "earliest" else LATEST
        return consumer.offsets_at(dict.fromkeys(partitions, timestamp))
    if not text.removeprefix("-").isdigit():
        raise UsageError(f"--offset {text}: expected a number, earliest or latest")
    offset = int(text)
    if offset >= 0:
        return dict.fromkeys(partitions, offset)
    starts = consumer.offsets_at(dict.fromkeys(partitions, EARLIEST))
    ends = consumer.offsets_at(dict.fromkeys(partitions, LATEST))
    return {each: max(starts[each], ends[each] + offset) for each in partitions}


class RecordPrinter:
    """Prints records as they arrive, until one of the options says to stop."""

    def __init__(
        self,
        consumer: Consumer | GroupConsumer,
        topic: str,
        to_line: Callable[[ConsumerRecord], bytes],
        options: argparse.Namespace,
    ) -> None:
        self.count = 0
        self._consumer = consumer
        self._topic = topic
        self._goes_to_end: bool = options.to_end
        self._max_messages: int | None = options.max_messages
        self._timeout_s: float | None = options.timeout
        if self._timeout_s is None and options.timeout_ms is not None:
            self._timeout_s = options.timeout_ms / 1000
        self._last_record_s = time.monotonic()
        self._to_line = to_line
        self._line_end = _line_end(options)

    def run(self) -> None:
        ends: dict[TopicPartition, int] = {}
        if self._goes_to_end:
            partitions = self._consumer.partitions_of(self._topic)
            ends = self._consumer.offsets_at(dict.fromkeys(partitions, LATEST))
        self._last_record_s = time.monotonic()
        while not self._is_over(ends):
            wait_s = _POLL_S
            if self._timeout_s is not None:
                wait_s = max(
                    min(wait_s, self._last_record_s + self._timeout_s - time.monotonic()), 0.0
                )
            records = self._consumer.poll(wait_s)
            if records:
                self._last_record_s = time.monotonic()
            self._print(records, ends)

    def _print(self, records: list[ConsumerRecord], ends: dict[TopicPartition, int]) -> None:
        out = sys.stdout.buffer
        unprinted: dict[TopicPartition, int] = {}
        failure: CommandError | None = None
        for record in records:
            partition = TopicPartition(record.topic, record.partition)
            end = ends.get(partition)
            is_wanted = end is None or record.offset < end
            if failure is not None or self.count == self._max_messages or not is_wanted:
                unprinted.setdefault(partition, record.offset)
                continue
            try:
                line = self._to_line(record)
            except CommandError as error:
                failure = error
                unprinted.setdefault(partition, record.offset)
                continue
            out.write(line + self._line_end)
            self.count += 1
        out.flush()
        # These were not printed, so a group must not commit them.
        for partition, offset in unprinted.items():
            self._consumer.seek(partition, offset)
        if failure is not None:
            raise failure

    def _is_over(self, ends: dict[TopicPartition, int]) -> bool:
        if self.count == self._max_messages:
            return True
        if self._goes_to_end and (isinstance(self._consumer, Consumer) or self._consumer.is_member):
            positions = self._consumer.positions
            if all(offset >= ends.get(each, 0) for each, offset in positions.items()):
                return True
        waited_s = time.monotonic() - self._last_record_s
        return self._timeout_s is not None and waited_s >= self._timeout_s


def _line_function(options: argparse.Namespace) -> Callable[[ConsumerRecord], bytes]:
    """From a record to the line that is printed for it."""
    form = print_format(options)
    if options.format == "json":
        return lambda record: json_line(record, form.key_format, form.value_format)
    to_line = line_printer(form)
    if not sys.stdout.isatty():
        return to_line
    return lambda record: terminal_line(to_line(record))


def print_format(options: argparse.Namespace) -> PrintFormat:
    """What to print, from this command's options and from Kafka's ``--property``."""
    given = _properties(options)
    prints = {
        f"prints_{part}": getattr(options, f"print_{part}")
        or given.get(f"print.{part}", "false") == "true"
        for part in _PRINTS
    }
    if options.key_format is not None:
        prints["prints_key"] = True
    separator = options.separator or given.get("key.separator", "\t")
    return PrintFormat(
        is_hex=options.format == "hex",
        prints_value=given.get("print.value", "true") == "true",
        separator=separator.replace("\\t", "\t").replace("\\n", "\n"),
        headers_separator=given.get("headers.separator", ","),
        null_literal=given.get("null.literal", "null"),
        key_format=_field_format("key", options.key_format, given),
        value_format=_field_format("value", options.value_format, given),
        **prints,
    )


def _field_format(part: str, text: str | None, given: dict[str, str]) -> FieldFormat | None:
    if text is not None:
        return parse_format(f"--{part}-format", text)
    name = f"{part}.deserializer"
    return parse_kafka_class(name, given[name]) if name in given else None


def _properties(options: argparse.Namespace) -> dict[str, str]:
    given = {}
    for text in options.property:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--property {text}: expected key=value")
        given[name] = value
    return given


def _line_end(options: argparse.Namespace) -> bytes:
    text = _properties(options).get("line.separator", "\n")
    return text.replace("\\n", "\n").replace("\\t", "\t").encode()
