"""Client quotas."""

from collections.abc import Mapping

import pytest

from moldau.controller.outcome import decided
from moldau.errors import ErrorCode
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from moldau.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
)
from tests.controller.cluster import Cluster

RATE = "producer_byte_rate"
EXACT, DEFAULT, SPECIFIED = 0, 1, 2


def entry(entity: Mapping[str, str | None], ops: list[tuple[str, float | None]]) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops],
    )


def alter(cluster: Cluster, *entries: EntryData, validate_only: bool = False) -> list[int]:
    request = AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)
    outcome = cluster.controller.alter_client_quotas(request)
    cluster.commit(outcome.records)
    return [each.error_code for each in outcome.response.entries]


def describe(
    cluster: Cluster, *components: tuple[str, int, str | None], strict: bool = False
) -> list[dict[str, str | None]]:
    request = DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=match, match=name)
            for kind, match, name in components
        ],
        strict=strict,
    )
    response = decided(cluster.controller.describe_client_quotas(request))
    assert response.error_code == 0, response.error_message
    return [
        {part.entity_type: part.entity_name for part in each.entity}
        for each in response.entries or []
    ]


def test_a_quota_is_set_described_and_removed() -> None:
    cluster = Cluster()
    user = {"user": "ada"}
    assert alter(cluster, entry(user, [(RATE, 1024.0)])) == [0]
    before = cluster.offset
    assert alter(cluster, entry(user, [(RATE, 1024.0)])) == [0]
    assert cluster.offset == before
    assert describe(cluster, ("user", EXACT, "ada")) == [user]
    assert alter(cluster, entry(user, [(RATE, None)])) == [0]
    assert describe(cluster) == []


def test_one_request_makes_no_more_changes_than_fit_a_batch() -> None:
    cluster = Cluster()
    entries = [entry({"user": f"user-{number}"}, [(RATE, 1.0)]) for number in range(10_002)]
    codes = alter(cluster, *entries)
    assert codes == [0] * 10_000 + [ErrorCode.POLICY_VIOLATION] * 2


def test_a_filter_matches_by_name_by_default_and_by_kind() -> None:
    cluster = Cluster()
    entities: list[dict[str, str | None]] = [
        {"user": "ada"},
        {"user": None},
        {"client-id": "app", "user": "ada"},
        {"ip": "10.0.0.1"},
    ]
    quotas = {"ip": "connection_creation_rate"}
    for entity in entities:
        key = quotas.get(next(iter(entity)), RATE)
        assert alter(cluster, entry(entity, [(key, 5.0)])) == [0]
    assert describe(cluster, ("user", EXACT, "ada")) == [entities[0], entities[2]]
    assert describe(cluster, ("user", EXACT, "ada"), strict=True) == [entities[0]]
    assert describe(cluster, ("user", DEFAULT, None)) == [entities[1]]
    assert describe(cluster, ("ip", SPECIFIED, None)) == [entities[3]]
    assert len(describe(cluster)) == 4


@pytest.mark.parametrize(
    "wanted",
    [
        entry({}, [(RATE, 1.0)]),
        entry({"planet": "earth"}, [(RATE, 1.0)]),
        entry({"user": ""}, [(RATE, 1.0)]),
        entry({"user": "ada", "ip": "10.0.0.1"}, [(RATE, 1.0)]),
        entry({"ip": "not an address"}, [("connection_creation_rate", 1.0)]),
        entry({"user": "ada"}, [("no_such_rate", 1.0)]),
        entry({"user": "ada"}, [(RATE, -1.0)]),
        entry({"user": "ada"}, [(RATE, float("nan"))]),
        entry({"user": "ada"}, [(RATE, 1.5)]),
        entry({"user": "ada"}, [(RATE, 1.0), (RATE, 2.0)]),
    ],
)
def test_what_is_no_quota_is_refused(wanted: EntryData) -> None:
    cluster = Cluster()
    assert alter(cluster, wanted) == [ErrorCode.INVALID_REQUEST]
    assert not cluster.image.client_quotas


def test_validate_only_and_a_repeated_entity() -> None:
    cluster = Cluster()
    user = entry({"user": "ada"}, [(RATE, 1.0)])
    assert alter(cluster, user, user, validate_only=True) == [0, ErrorCode.INVALID_REQUEST]
    assert not cluster.image.client_quotas


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("", EXACT, "x")], 42),
        ([("user", EXACT, "x"), ("user", EXACT, "y")], 42),
        ([("planet", EXACT, "x")], 35),
        ([("user", EXACT, None)], 42),
        ([("user", DEFAULT, "x")], 42),
        ([("user", 9, "x")], 42),
        ([("user", EXACT, "x"), ("ip", EXACT, "y")], 42),
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(
    components: list[tuple[str, int, str | None]], code: int
) -> None:
    request = DescribeClientQuotasRequest(
        components=[
            ComponentData(entity_type=kind, match_type=match, match=name)
            for kind, match, name in components
        ]
    )
    assert decided(Cluster().controller.describe_client_quotas(request)).error_code == code
