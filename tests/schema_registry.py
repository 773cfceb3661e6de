"""A schema registry in this process, over HTTP: what tests of its clients talk to.

It has the part of Confluent's REST API that clients of Avro use, with ids that count from 1 and the
same id for the same schema in all subjects. ``incompatible`` names subjects that take no second
schema; ``failures`` are statuses that the next requests are answered with.
"""

import base64
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self


class FakeRegistry:
    def __init__(self, user: str | None = None) -> None:
        """``user`` is ``name:password``, without which nobody is let in."""
        self.schemas: list[dict[str, Any]] = []
        self.subjects: dict[str, list[int]] = {}
        self.requests: list[tuple[str, str]] = []
        self.failures: list[int] = []
        self.incompatible: set[str] = set()
        self.user = user
        registry = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                registry.answer(self)

            def do_POST(self) -> None:
                registry.answer(self)

            def log_message(self, *arguments: Any) -> None:
                """Tests look at ``requests``; standard error stays empty."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, subject: str, schema: Any, **more: Any) -> int:
        """Register a schema, as ``POST /subjects/{subject}/versions`` does."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        entry = {"schema": text} | more
        if entry not in self.schemas:
            self.schemas.append(entry)
        schema_id = self.schemas.index(entry) + 1
        ids = self.subjects.setdefault(subject, [])
        if schema_id not in ids:
            ids.append(schema_id)
        return schema_id

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length") or 0)
        body = json.loads(handler.rfile.read(length)) if length else {}
        self.requests.append((handler.command, handler.path))
        status, answer = self._status_and_answer(handler, body)
        data = json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _status_and_answer(self, handler: BaseHTTPRequestHandler, body: Any) -> tuple[int, Any]:
        if self.failures:
            status = self.failures.pop(0)
            return status, {"error_code": status, "message": "as the test wants"}
        if self.user is not None:
            expected = "Basic " + base64.b64encode(self.user.encode()).decode()
            if handler.headers.get("Authorization") != expected:
                return 401, {"error_code": 401, "message": "Unauthorized"}
        parts = [urllib.parse.unquote(part) for part in handler.path.strip("/").split("/")]
        match handler.command, parts:
            case "GET", ["subjects"]:
                return 200, sorted(self.subjects)
            case "GET", ["schemas", "ids", number]:
                return self._by_id(int(number))
            case "GET", ["subjects", subject, "versions", version]:
                return self._by_version(subject, version)
            case "POST", ["subjects", subject, "versions"]:
                if subject in self.incompatible and self.subjects.get(subject):
                    return 409, {
                        "error_code": 409,
                        "message": "Schema being registered is incompatible",
                    }
                more = {key: value for key, value in body.items() if key != "schema"}
                return 200, {"id": self.add(subject, body["schema"], **more)}
            case "POST", ["subjects", subject]:
                return self._lookup(subject, body["schema"])
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _by_id(self, schema_id: int) -> tuple[int, Any]:
        if not 0 < schema_id <= len(self.schemas):
            return 404, {"error_code": 40403, "message": f"Schema {schema_id} not found"}
        return 200, self.schemas[schema_id - 1]

    def _by_version(self, subject: str, version: str) -> tuple[int, Any]:
        ids = self.subjects.get(subject)
        if not ids:
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        number = len(ids) if version == "latest" else int(version)
        schema_id = ids[number - 1]
        found = {"subject": subject, "version": number, "id": schema_id}
        return 200, found | self.schemas[schema_id - 1]

    def _lookup(self, subject: str, text: str) -> tuple[int, Any]:
        for number, schema_id in enumerate(self.subjects.get(subject, []), start=1):
            if self.schemas[schema_id - 1]["schema"] == text:
                return 200, {"subject": subject, "version": number, "id": schema_id, "schema": text}
        return 404, {"error_code": 40403, "message": "Schema not found"}
