"""Avro's schemas in the form in which fastavro reads and writes values for us.

Three things are changed, none of which changes a byte of what is written:

* Logical types are left out: values stay numbers and bytes, and the schema of Connect says what
  they mean. fastavro would give Python's dates, also for types that Connect does not know.
* Each branch of a union is wrapped in a record with one field, which has the encoding of the branch
  itself. So fastavro reports which branch it read, and can be told which one to write; from an
  ``int`` alone nobody could tell a branch ``int`` from ``long``. Unions of null and one type stay.
* Types that a registered schema takes from others are put in where they are first named.
"""

from collections.abc import Mapping
from typing import Any

_PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
_NAMED = frozenset(("record", "error", "enum", "fixed"))
_BRANCH = "MoldauBranch"
BRANCH_FIELD = "value"


def wire_schema(avro: Any) -> Any:
    """The JSON of a schema for ``fastavro.parse_schema``."""
    return _Wire().of(avro)


def branch_index(name: str) -> int:
    """Which branch of its union a wrapping record stands for."""
    return int(name.rpartition("_")[2])


def is_branch(avro: Any) -> bool:
    return isinstance(avro, dict) and _BRANCH in str(avro.get("name", ""))


class _Wire:
    def __init__(self) -> None:
        self._unions = 0

    def of(self, avro: Any) -> Any:
        if isinstance(avro, str):
            return avro
        if isinstance(avro, list):
            return self._union(avro)
        kind = avro["type"]
        if isinstance(kind, dict | list):
            return self.of(kind)
        made = {
            key: avro[key]
            for key in ("type", "name", "namespace", "symbols", "size")
            if key in avro
        }
        if kind == "array":
            made["items"] = self.of(avro["items"])
        elif kind == "map":
            made["values"] = self.of(avro["values"])
        elif kind in ("record", "error"):
            made["type"] = "record"
            made["fields"] = [self._field(field) for field in avro["fields"]]
        return made

    def _field(self, field: Mapping[str, Any]) -> dict[str, Any]:
        made = {"name": field["name"], "type": self.of(field["type"])}
        if field.get("default", made) is None:
            made["default"] = None
        return made

    def _union(self, branches: list[Any]) -> list[Any]:
        if len(branches) == 2 and "null" in branches:
            return [self.of(branch) for branch in branches]
        self._unions += 1
        union = self._unions
        made = []
        for index, branch in enumerate(branches):
            if branch == "null":
                made.append(branch)
                continue
            fields = [{"name": BRANCH_FIELD, "type": self.of(branch)}]
            made.append({"type": "record", "name": f"{_BRANCH}{union}_{index}", "fields": fields})
        return made


def with_references(avro: Any, definitions: Mapping[str, Any]) -> Any:
    """``avro`` with the definition of each type at the place where its name stands first."""
    return _Inlining(definitions).of(avro, None) if definitions else avro


class _Inlining:
    def __init__(self, definitions: Mapping[str, Any]) -> None:
        self._definitions = definitions
        self._done: set[str] = set()

    def of(self, avro: Any, space: str | None) -> Any:
        if isinstance(avro, str):
            return self._name(avro, space)
        if isinstance(avro, list):
            return [self.of(branch, space) for branch in avro]
        made = dict(avro)
        kind = avro["type"]
        if kind in _NAMED if isinstance(kind, str) else False:
            space = _space_of(avro, space)
        if isinstance(kind, dict | list):
            made["type"] = self.of(kind, space)
        for inner in ("items", "values"):
            if inner in avro:
                made[inner] = self.of(avro[inner], space)
        if "fields" in avro:
            made["fields"] = [f | {"type": self.of(f["type"], space)} for f in avro["fields"]]
        return made

    def _name(self, name: str, space: str | None) -> Any:
        if name in _PRIMITIVES:
            return name
        full_name = name if "." in name or not space else f"{space}.{name}"
        if full_name not in self._definitions or full_name in self._done:
            return name if full_name not in self._definitions else full_name
        self._done.add(full_name)
        definition = dict(self._definitions[full_name])
        # The name is written in full: the namespace around may be another one here.
        namespace, _, last = full_name.rpartition(".")
        definition |= {"name": last, "namespace": namespace}
        return self.of(definition, space)


def _space_of(avro: Mapping[str, Any], space: str | None) -> str | None:
    name = str(avro["name"])
    return name.rpartition(".")[0] if "." in name else avro.get("namespace", space)


def full_name(avro: Mapping[str, Any]) -> str:
    """The name of a definition at the top of a schema, with its namespace."""
    name, space = str(avro["name"]), avro.get("namespace")
    return f"{space}.{name}" if space and "." not in name else name
