"""What SQL asks a schema registry for: the Avro schema of an id, and the newest of a subject."""

import json
from typing import Any, Final

from moldau.client.schema_registry import RegisteredSchema, SchemaRegistry, SchemaRegistryError
from moldau.spark.errors import PipelineError

_NOT_FOUND: Final = 404


class SchemaLookup:
    """Schemas by id and by subject, as parsed JSON. Raises PipelineError."""

    def __init__(self, url: str) -> None:
        """``url`` may have a user and a password, and may be several with commas."""
        self._url = url
        self._registry: SchemaRegistry | None = None

    def by_id(self, schema_id: int) -> Any:
        try:
            return _avro(self._connected().schema(schema_id))
        except SchemaRegistryError as error:
            raise _explained(error) from None

    def latest(self, subject: str) -> tuple[int, Any] | None:
        """The id and the newest schema of a subject; None if there is no such subject."""
        try:
            found = self._connected().latest(subject)
        except SchemaRegistryError as error:
            if error.status == _NOT_FOUND:
                return None
            raise _explained(error) from None
        return found.id, _avro(found)

    def _connected(self) -> SchemaRegistry:
        if self._registry is None:
            self._registry = SchemaRegistry.from_config({"schema.registry.url": self._url})
        return self._registry


def _explained(error: SchemaRegistryError) -> PipelineError:
    return PipelineError(f"{error}: --registry selects another")


def _avro(found: RegisteredSchema) -> Any:
    if found.type != "AVRO":
        raise PipelineError(
            f"schema {found.id} is {found.type}, and only Avro can be read as a table: leave out "
            "--registry to read bytes"
        )
    if found.references:
        raise PipelineError(
            f"schema {found.id} refers to other schemas, which is not supported: leave out "
            "--registry to read bytes"
        )
    return json.loads(found.text)
