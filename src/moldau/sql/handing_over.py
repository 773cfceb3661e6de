"""``CREATE STREAMING TABLE`` and ``CREATE MATERIALIZED VIEW``: queries that live on in the worker.

This process ends when it is idle, so such a query becomes a connector of the Connect worker, which
keeps it running: its class is ``io.moldau.connect.SqlQuery``, its name that of the table. What it
does there is in ``living``.
"""

import json
import urllib.error
import urllib.request
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from moldau.sql.errors import Span, SqlError
from moldau.sql.living import MATERIALIZED_VIEW, STREAMING_TABLE, check_query
from moldau.sql.plan import Parsed, named_relation
from moldau.sql.settings import SqlSettings
from moldau.sql.statements import Kind, shown, words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CLASS: Final = "io.moldau.connect.SqlQuery"
_BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_TIMEOUT_S: Final = 90.0
_QUERIES: Final = ("SELECT", "WITH", "FROM", "TABLE", "VALUES")
_CONFLICT: Final = 409
_KINDS: Final = {
    "CreateStreamingTableAsSelect": STREAMING_TABLE,
    "CreateMaterializedViewAsSelect": MATERIALIZED_VIEW,
}


def hand_over(
    parsed: Parsed, frame: "DataFrame", settings: SqlSettings, cluster_id: str | None
) -> str:
    """Make a connector of the statement; returns what to tell the user.

    The query runs with the worker's own settings, so no secret of the user goes there;
    ``cluster_id`` is that of the cluster whose topics the query names.

    Raises:
        SqlError: the query is not of the right kind, or the worker does not take it.
    """
    kind = _KINDS[parsed.kind]
    plan: Any = frame._jdf.queryExecution().analyzed()
    check_query(parsed, kind, plan)
    name = named_relation(parsed.root.children().apply(0), parsed.text).name
    span = _name_span(parsed, name)
    if kind == MATERIALIZED_VIEW and frame.isStreaming:
        raise SqlError(
            "a materialized view is computed from what is there, not from a stream",
            "leave out STREAM, or write CREATE STREAMING TABLE",
            span,
        )
    _check_cluster(cluster_id, settings.worker, span)
    topics = sorted({each.name for each in parsed.relations if len(each.parts) == 1})
    config = connector_config(kind, name, query_text(parsed.text), topics, settings)
    _post(name, config, settings.worker, span)
    return f"{name} runs in the worker: moldau connect status {shown(name)} shows how"


def connector_config(
    kind: str, name: str, query: str, topics: list[str], settings: SqlSettings
) -> dict[str, str]:
    """The config of the connector that runs a query: a sink of the topics that the query reads."""
    config = {
        "connector.class": CLASS,
        "tasks.max": "1",
        "topics": ",".join(topics),
        # The query decodes records itself.
        "key.converter": _BYTES,
        "value.converter": _BYTES,
        # A table has what was in the topics before it was made, too.
        "consumer.override.auto.offset.reset": "earliest",
        "sql.kind": kind,
        "sql.query": query,
        "sql.topic": name,
    }
    if settings.registry is not None:
        config["sql.registry"] = settings.registry
    return config


def query_text(statement: str) -> str:
    """The query behind the first AS that one can follow; Spark's positions leave out a part."""
    for before, after in pairwise(words(statement)):
        if before.upper == "AS" and (after.upper in _QUERIES or after.text == "("):
            return statement[after.start :]
    raise AssertionError("the parser has found a query")


def _name_span(parsed: Parsed, name: str) -> Span | None:
    for each in words(parsed.text):
        if each.kind in (Kind.WORD, Kind.QUOTED) and each.name == name:
            return each.span
    return None


def _post(name: str, config: dict[str, str], worker: str, span: Span | None) -> None:
    request = urllib.request.Request(
        f"{worker.rstrip('/')}/connectors",
        data=json.dumps({"name": name, "config": config}).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
            response.read()
    except urllib.error.HTTPError as error:
        with error:
            message = _message(error.read())
        # The worker also answers 409 while it joins its group.
        if error.code == _CONFLICT and _exists(name, worker):
            raise SqlError(
                f"{shown(name)} is there already",
                f"moldau connect delete {shown(name)} ends it",
                span,
            ) from None
        remedy = "try again in a moment" if error.code == _CONFLICT else ""
        said = f"the worker {worker} refuses it ({message or error.code})"
        raise SqlError(said, remedy, span) from None
    except (OSError, ValueError) as error:
        raise _no_worker(worker, error, span) from None


def _check_cluster(cluster_id: str | None, worker: str, span: Span | None) -> None:
    """Raises SqlError if the worker has the topics of another cluster."""
    try:
        with urllib.request.urlopen(f"{worker.rstrip('/')}/", timeout=_TIMEOUT_S) as response:
            there = json.loads(response.read()).get("kafka_cluster_id")
    except (OSError, ValueError) as error:
        raise _no_worker(worker, error, span) from None
    if there != cluster_id:
        raise SqlError(
            f"the worker {worker} is one of another cluster ({there}, this one is {cluster_id})",
            "--worker selects another",
            span,
        )


def _no_worker(worker: str, error: Exception, span: Span | None) -> SqlError:
    reason = getattr(error, "reason", error)
    return SqlError(
        f"no Connect worker answers at {worker} ({reason})",
        "moldau connect worker starts one, --worker selects another",
        span,
    )


def _exists(name: str, worker: str) -> bool:
    url = f"{worker.rstrip('/')}/connectors/{quote(name, safe='')}"
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as response:
            return bool(response.status == 200)
    except OSError:
        return False  # No connector of this name, or no answer.


def _message(body: bytes) -> str:
    try:
        parsed: Any = json.loads(body)
        return str(parsed["message"])
    except (ValueError, KeyError, TypeError):
        return ""
