"""The chain of a connector: stages, predicates, errors."""

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.data.errors import DataError
from moldau.connect.data.record import ConnectRecord
from moldau.connect.plugins import Plugins
from moldau.connect.transforms import Chain, Transform, build
from tests.connect.transforms.making import PACKAGE, record

CONFIG = {
    "name": "sink",
    "transforms": "cut, route,drop",
    "transforms.cut.type": f"{PACKAGE}ReplaceField$Value",
    "transforms.cut.exclude": "card",
    "transforms.route.type": f"{PACKAGE}RegexRouter",
    "transforms.route.regex": ".*",
    "transforms.route.replacement": "x-$0",
    "transforms.route.predicate": "isOrder",
    "transforms.route.negate": "true",
    "transforms.drop.type": f"{PACKAGE}Filter",
    "transforms.drop.predicate": "isTombstone",
    "predicates": "isOrder,isTombstone",
    "predicates.isOrder.type": f"{PACKAGE}predicates.TopicNameMatches",
    "predicates.isOrder.pattern": "orders.*",
    "predicates.isTombstone.type": f"{PACKAGE}predicates.RecordIsTombstone",
}


def chain(**changes: str) -> Chain:
    config = CONFIG | {name.replace("_", "."): text for name, text in changes.items()}
    return build(config, Plugins())


def applied(made: Chain, each: ConnectRecord) -> tuple[str, object] | None:
    result = made.apply(each)
    return (result.topic, result.value) if result is not None else None


def test_stages_are_applied_in_order_to_the_records_that_predicates_choose() -> None:
    made = chain()
    assert applied(made, record({"a": 1, "card": 2})) == ("orders", {"a": 1})
    assert applied(made, record({"card": 2}, topic="returns")) == ("x-returns", {})
    assert applied(made, record(None)) is None


def test_the_record_that_came_in_is_not_changed() -> None:
    before = record({"a": 1, "card": 2}, topic="returns")
    chain().apply(before)
    assert (before.topic, before.value) == ("returns", {"a": 1, "card": 2})


class Remembering(Transform):
    """Gives a record that it keeps."""

    kept: ConnectRecord

    def apply(self, record: ConnectRecord) -> ConnectRecord:
        Remembering.kept = record.replace(value={"a": "5"})
        return Remembering.kept


def test_a_record_that_a_transform_keeps_is_not_changed_by_the_next() -> None:
    made = build(
        {
            "transforms": "one,mine,two",
            "transforms.one.type": f"{PACKAGE}HoistField$Value",
            "transforms.one.field": "a",
            "transforms.mine.type": f"{__name__}.Remembering",
            "transforms.two.type": f"{PACKAGE}Cast$Value",
            "transforms.two.spec": "a:int64",
        },
        Plugins(),
    )
    assert applied(made, record("text")) == ("orders", {"a": 5})
    assert Remembering.kept.value == {"a": "5"}
    assert made.stages[1].class_name == f"{__name__}.Remembering"


def test_a_record_of_the_chains_own_is_changed_in_place() -> None:
    each = record({"a": 1, "card": 2})
    assert chain(transforms="cut").apply(each, is_own=True) is each
    assert each.value == {"a": 1}


def test_a_connector_without_transforms_passes_its_records() -> None:
    each = record({"a": 1})
    assert build({"name": "sink"}, Plugins()).apply(each) is each


def test_a_failed_stage_is_named() -> None:
    made = chain()
    with pytest.raises(
        DataError, match="ReplaceField needs a map of fields, not a value of STRING"
    ):
        made.apply(record("text"))
    assert made.failed is not None
    assert (made.failed.alias, made.failed.class_name) == ("cut", f"{PACKAGE}ReplaceField$Value")


def test_short_names_work() -> None:
    made = chain(transforms="route", transforms_route_type="RegexRouter")
    assert applied(made, record(None, topic="a")) == ("x-a", None)
    assert made.stages[0].class_name == f"{PACKAGE}RegexRouter"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"transforms_cut_type": ""}, r"transforms\.cut\.type is required"),
        ({"transforms_cut_type": f"{PACKAGE}ReplaceFeld$Value"}, r"ReplaceField\$Value"),
        ({"transforms_route_regex": "("}, r"regex cannot be \(: not a regular expression"),
        ({"transforms_route_predicate": "no"}, r"predicates\.no\.type is required"),
        ({"transforms_cut_negate": "true"}, "cut.negate is set without transforms.cut.predicate"),
        ({"transforms": "cut,cut"}, "transforms has cut twice"),
    ],
)
def test_a_wrong_config_is_refused(changes: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        chain(**changes)
