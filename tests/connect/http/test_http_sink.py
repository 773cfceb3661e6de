"""Records reach a real server, at least once."""

import threading
import time
from collections.abc import Iterator

import pytest

from moldau.connect.connectors.http.answers import Verdict, retry_after_s, verdict, wait_s
from moldau.connect.connectors.http.sink import HttpSink
from moldau.connect.data import schema as schemas
from moldau.connect.data.errors import ConnectError, DataError, RetriableError
from moldau.connect.data.record import SinkRecord
from tests.connect.http.server import Answer, Server, running
from tests.connect.lake.driving import Task, order, record


@pytest.fixture
def server() -> Iterator[Server]:
    with running() as made:
        yield made


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that a sink makes, which take no time; other threads sleep as they always do."""
    found: list[float] = []
    of_the_sink = threading.get_ident()
    real_sleep = time.sleep

    def sleep(seconds: float) -> None:
        if threading.get_ident() == of_the_sink:
            found.append(seconds)
        else:
            real_sleep(seconds)

    monkeypatch.setattr(time, "sleep", sleep)
    return found


def text(value: str, offset: int = 0) -> SinkRecord:
    return record(value, schemas.STRING, offset=offset)


def send(
    server: Server, *records: SinkRecord, bad: list[str] | None = None, **options: str
) -> None:
    named = {name.replace("_", "."): value for name, value in options.items()}
    config = {"url": server.url, **named}
    assert HttpSink.validate(config) == []
    sink, task = HttpSink(), Task(bad=bad)
    sink.start(config)
    sink.open(config, task)
    try:
        sink.write(iter(records), task)
    finally:
        sink.stop()


def test_each_record_is_a_request_over_one_connection(server: Server) -> None:
    send(server, order(7), record({"a": [1]}, offset=8), header_Authorization="secret")
    assert server.bodies == [b'{"id":7,"item":"item 7"}', b'{"a":[1]}']
    [first, _] = server.requests
    assert first.method == "POST"
    assert first.headers["Authorization"] == "secret"
    assert first.headers["Content-Type"] == "application/json"
    assert first.headers["Idempotency-Key"] == "orders-0-7"
    assert server.connections == 1


def test_several_records_are_an_array(server: Server) -> None:
    send(server, *(text(str(number), number) for number in range(5)), batch_size="2")
    assert server.bodies == [b'["0","1"]', b'["2","3"]', b'["4"]']


def test_text_and_bytes_can_be_sent_as_they_are(server: Server) -> None:
    raw = record(b"\x00\xff", schemas.BYTES, offset=1)
    send(server, text("plain"), raw, body_format="raw", method="PUT", header_X="1")
    assert server.bodies == [b"plain", b"\x00\xff"]
    assert server.requests[0].method == "PUT"
    with pytest.raises(DataError, match="takes strings and bytes"):
        send(server, order(0), body_format="raw")


def test_the_topic_is_part_of_the_url_and_never_shared_by_a_batch(server: Server) -> None:
    records = [text("a"), text("b").replace(topic="x/ä"), text("c").replace(topic="x/ä")]
    config = {"url": f"{server.url}/${{topic}}?q=1", "batch.size": "9"}
    sink, task = HttpSink(), Task()
    sink.open(config, task)
    sink.write(iter(records), task)
    sink.stop()
    assert [each.path for each in server.requests] == [
        "/records/orders?q=1",
        "/records/x%2F%C3%A4?q=1",
    ]
    assert server.bodies == [b'["a"]', b'["b","c"]']


def test_an_answer_that_asks_to_come_again_is_heeded(server: Server, pauses: list[float]) -> None:
    server.plan = [
        Answer(429, {"Retry-After": "7"}),
        Answer(503, {"Retry-After": "Wed, 21 Oct 2099 07:28:00 GMT"}),
        Answer(500),
    ]
    send(server, text("a"), retry_backoff_ms="100", retry_backoff_max_ms="20000")
    assert server.bodies == [b'"a"'] * 4
    assert pauses == [7.0, 20.0, 0.4]


def test_a_server_that_never_recovers_fails_the_batch(server: Server, pauses: list[float]) -> None:
    server.plan = [Answer(502, body=b"upstream is down")] * 3
    with pytest.raises(RetriableError, match="502 Bad Gateway: upstream is down, also after 2"):
        send(server, text("a"), max_retries="2")
    assert len(pauses) == 2


def test_a_server_that_cannot_be_reached_fails_the_batch(pauses: list[float]) -> None:
    with running() as server:
        pass
    with pytest.raises(RetriableError, match=r"cannot be reached: .*refused"):
        send(server, text("a"), max_retries="1")
    assert len(pauses) == 1


def test_a_connection_that_was_closed_is_opened_again(server: Server) -> None:
    server.plan = [Answer(200, {"Connection": "close"})]
    send(server, text("a"), text("b", 1))
    assert server.bodies == [b'"a"', b'"b"']
    assert server.connections == 2


def test_a_connection_that_died_while_idle_costs_no_pause(
    server: Server, pauses: list[float]
) -> None:
    server.plan = [Answer(is_last=True)]
    send(server, text("a"), text("b", 1))
    assert server.bodies == [b'"a"', b'"b"']
    assert server.connections == 2
    assert pauses == []


def test_what_a_server_refuses_is_a_bad_record(server: Server) -> None:
    bad: list[str] = []
    send(server, text("a"), text("poison", 1), text("b", 2), bad=bad)
    assert len(bad) == 1
    assert bad[0].startswith("record orders-0@1: http://127.0.0.1:")
    assert bad[0].endswith("answered 422 Unprocessable Entity: no poison, please")
    with pytest.raises(DataError, match="record orders-0@0"):
        send(server, text("poison"))


def test_of_a_refused_array_only_the_bad_records_count(server: Server) -> None:
    bad: list[str] = []
    send(server, text("a"), text("poison", 1), text("b", 2), bad=bad, batch_size="10")
    assert server.bodies[1:] == [b'["a"]', b'["poison"]', b'["b"]']
    assert [each[:18] for each in bad] == ["record orders-0@1:"]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirects_are_refused(server: Server, status: int) -> None:
    server.plan = [Answer(status, {"Location": "http://127.0.0.1:1/elsewhere"})]
    with pytest.raises(ConnectError, match=f"answered {status} .*elsewhere: redirects are not"):
        send(server, text("a"), bad=[])
    assert len(server.requests) == 1


def test_tombstones_are_left_out_or_reported(server: Server) -> None:
    bad: list[str] = []
    send(server, record(None))
    send(server, record(None), bad=bad, behavior_on_null_values="fail")
    assert server.requests == []
    assert "the record has no value" in bad[0]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("url", "ftp://host/", "must be like"),
        ("url", "https:///path", "must be like"),
        ("url", "http://host:port/", "must be like"),
        ("url", "http://me:pass@host/", "contains a password"),
        ("body.format", "raw", "batch.size=1"),
        ("ssl.ca.location", "/no/such/file", "no file of certificates"),
        ("header.X", "a\nb", "one line"),
    ],
)
def test_options_that_make_no_sense_are_refused(option: str, value: str, message: str) -> None:
    config = {"url": "http://host/", "batch.size": "2", option: value}
    [problem] = HttpSink.validate(config)
    assert option.startswith(problem.name)
    assert message in problem.message
    assert "pass@" not in problem.message


def test_verdicts() -> None:
    assert [verdict(status) for status in (200, 204, 301, 400, 404, 408, 429, 500, 503)] == [
        Verdict.DONE,
        Verdict.DONE,
        Verdict.WRONG_URL,
        Verdict.BAD_RECORDS,
        Verdict.BAD_RECORDS,
        Verdict.AGAIN,
        Verdict.AGAIN,
        Verdict.AGAIN,
        Verdict.AGAIN,
    ]


def test_the_pause_is_the_servers_or_doubles() -> None:
    now, later = "Wed, 21 Oct 2026 07:28:00 GMT", "Wed, 21 Oct 2026 07:28:30 GMT"
    assert retry_after_s(later, now) == 30
    assert retry_after_s(now, later) == 0
    assert retry_after_s("soon", now) is None
    assert retry_after_s(later, None) is None
    assert [wait_s(attempt, None, 1, 5) for attempt in range(4)] == [1, 2, 4, 5]
    assert wait_s(0, 100, 1, 5) == 5
