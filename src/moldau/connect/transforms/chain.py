"""The transforms of a connector, one after the other.

    transforms=cut,route
    transforms.cut.type=org.apache.kafka.connect.transforms.ReplaceField$Value
    transforms.cut.exclude=card
    transforms.route.type=org.apache.kafka.connect.transforms.RegexRouter
    transforms.route.predicate=isOrder
    transforms.route.negate=true
    predicates=isOrder
    predicates.isOrder.type=org.apache.kafka.connect.transforms.predicates.TopicNameMatches

A chain holds compiled patterns and caches of schemas, so it is not sent to other processes: they
build it from the same config.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from moldau.connect.config.errors import ConfigError, missing
from moldau.connect.config.validators import duplicate
from moldau.connect.data.columns import RecordColumns
from moldau.connect.data.record import ConnectRecord
from moldau.connect.data.schema import Schema
from moldau.connect.transforms.base import (
    Changed,
    Part,
    PartTransform,
    Predicate,
    Transform,
    ValuePart,
    copied,
)

__all__ = ["Chain", "Stage", "build"]

_Change = Callable[[ConnectRecord, Schema | None, Any], Changed]
_Apply = Callable[[ConnectRecord], ConnectRecord | None]
# Options that belong to the stage, not to the transform in it.
_OF_THE_STAGE = ("type", "predicate", "negate", "plugin.version")


class _Plugins(Protocol):
    """The part of ``connect.plugins`` that a chain needs: classes by their names."""

    def transform(self, class_name: str, version: str | None = None) -> type[Transform]: ...

    def predicate(self, class_name: str, version: str | None = None) -> type[Predicate]: ...


class Stage:
    """A transform, and the predicate that says which records it gets (all, without one)."""

    def __init__(
        self,
        alias: str,
        transform: Transform,
        class_name: str,
        predicate: Predicate | None = None,
        is_negated: bool = False,
    ) -> None:
        self.alias = alias
        self.transform = transform
        self.class_name = class_name
        self.predicate = predicate
        self.is_negated = is_negated

    def apply(self, record: ConnectRecord) -> ConnectRecord | None:
        """The transformed record, None if it is dropped; the same where the predicate says no."""
        if self.predicate is not None and bool(self.predicate.test(record)) is self.is_negated:
            return record
        return self.transform.apply(record)

    def close(self) -> None:
        self.transform.close()
        if self.predicate is not None:
            self.predicate.close()


class Chain:
    """All stages of a connector, in the order of ``transforms``.

    ``failed`` is the stage that raised in the last call of ``apply``: error handling names its
    class (``failed.class_name``) in logs and dead letters.
    """

    def __init__(self, stages: tuple[Stage, ...]) -> None:
        self.stages = stages
        self.failed: Stage | None = None
        # The first stage that changes a key or value makes a copy of the record, and the next ones
        # change that copy: this takes a third off the time of three transforms.
        self._steps = [(stage, *_step(stage)) for stage in stages]

    def apply(self, record: ConnectRecord, *, is_own: bool = False) -> ConnectRecord | None:
        """The record after all stages, or None as soon as one drops it.

        What a transform raises is passed on as it is; ``failed`` then names its stage. A caller
        that has no other use for ``record`` says ``is_own``: then it may be changed, even if a
        later stage fails, and no copy is made.
        """
        current = record
        for stage, change, part, step in self._steps:
            try:
                if change is None:
                    result = step(current)
                    if result is None:
                        return None
                    is_own = is_own and result is current
                    current = result
                elif part is ValuePart:
                    schema, content = change(current, current.value_schema, current.value)
                    if not is_own:
                        current, is_own = copied(current), True
                    current.value_schema, current.value = schema, content
                else:
                    schema, content = change(current, current.key_schema, current.key)
                    if not is_own:
                        current, is_own = copied(current), True
                    current.key_schema, current.key = schema, content
            except Exception:
                self.failed = stage
                raise
        return current

    @property
    def has_columns(self) -> bool:
        """Whether ``apply_columns`` may have a result."""
        return all(each.predicate is None and each.transform.has_columns for each in self.stages)

    def apply_columns(self, records: RecordColumns) -> RecordColumns | None:
        """``apply`` for many records at once; None where only ``apply`` can.

        An exception says no more than that either: ``apply`` finds the record that is wrong.
        """
        current: RecordColumns | None = records
        for stage in self.stages:
            if current is None or stage.predicate is not None:
                return None
            current = stage.transform.apply_columns(current)
        return current

    def close(self) -> None:
        for stage in self.stages:
            stage.close()


def _step(stage: Stage) -> tuple[_Change | None, type[Part] | None, _Apply]:
    """How a stage is run: by the change of one part, or else by a call that gives a record."""
    transform = stage.transform
    if stage.predicate is None and isinstance(transform, PartTransform):
        return transform.change, transform.part, stage.apply
    return None, None, stage.apply if stage.predicate is not None else transform.apply


def build(config: Mapping[str, str], plugins: _Plugins) -> Chain:
    """The chain of a connector's config.

    Raises:
        ConfigError: a class is missing or unknown, an option is invalid, or a predicate is not
        defined.
    """
    stages = [_stage(alias, config, plugins) for alias in _aliases(config, "transforms")]
    return Chain(tuple(stages))


def _stage(alias: str, config: Mapping[str, str], plugins: _Plugins) -> Stage:
    options = _options(config, f"transforms.{alias}.")
    made = plugins.transform(*_type(options, f"transforms.{alias}."))
    transform = made()
    own = {name: value for name, value in options.items() if name not in _OF_THE_STAGE}
    transform.configure(own)
    class_name = made.java_class or f"{made.__module__}.{made.__qualname__}"
    is_negated = options.get("negate", "false").strip().lower() == "true"
    predicate = options.get("predicate")
    if predicate is None:
        if "negate" in options:
            negate, needed = f"transforms.{alias}.negate", f"transforms.{alias}.predicate"
            raise ConfigError(f"{negate} is set without {needed}: name a predicate, or remove it")
        return Stage(alias, transform, class_name)
    return Stage(alias, transform, class_name, _predicate(predicate, config, plugins), is_negated)


def _predicate(alias: str, config: Mapping[str, str], plugins: _Plugins) -> Predicate:
    prefix = f"predicates.{alias}."
    options = _options(config, prefix)
    predicate = plugins.predicate(*_type(options, prefix))()
    predicate.configure(options)
    return predicate


def _type(options: Mapping[str, str], prefix: str) -> tuple[str, str | None]:
    name = options.get("type", "").strip()
    if not name:
        raise missing(f"{prefix}type")
    return name, options.get("plugin.version")


def _aliases(config: Mapping[str, str], name: str) -> list[str]:
    aliases = [alias.strip() for alias in config.get(name, "").split(",")]
    found = [alias for alias in aliases if alias]
    if (twice := duplicate(found)) is not None:
        raise ConfigError(f"{name} has {twice} twice: remove one")
    return found


def _options(config: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in config.items()
        if name.startswith(prefix)
    }
