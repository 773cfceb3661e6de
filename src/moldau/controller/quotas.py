"""Client quotas: AlterClientQuotas, and DescribeClientQuotas from the image."""

import ipaddress
from collections.abc import Generator
from typing import Final

from moldau.controller.outcome import Deciding, Outcome
from moldau.controller.state import ControllerState, check_record_count
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.image import MetadataImage, QuotaEntity
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntryData,
    EntryDataResponse,
)
from moldau.protocol.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    ValueData,
)
from moldau.protocol.messages.describe_client_quotas import EntryData as DescribedEntry
from moldau.protocol.records.metadata import ClientQuotaRecord
from moldau.protocol.records.metadata import EntityData as RecordEntity

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

_EXACT: Final = 0
_DEFAULT: Final = 1
_SPECIFIED: Final = 2

# Quota -> the largest integer allowed; None if it may be a fraction.
_CLIENT_QUOTAS: Final[dict[str, float | None]] = {
    "producer_byte_rate": float(2**63 - 1),
    "consumer_byte_rate": float(2**63 - 1),
    "request_percentage": None,
    "controller_mutation_rate": None,
}
_IP_QUOTAS: Final[dict[str, float | None]] = {"connection_creation_rate": float(2**31 - 1)}


def alter_client_quotas(
    state: ControllerState, request: AlterClientQuotasRequest
) -> Deciding[AlterClientQuotasResponse]:
    """Set and remove quotas; entities are independent, and each is a step."""
    records: list[Message] = []
    responses = []
    seen: set[QuotaEntity] = set()
    for entry in request.entries:
        response = EntryDataResponse(error_message=None, entity=entry.entity)
        try:
            changed = _alter_entity(state, entry, seen)
            check_record_count(len(records) + len(changed))
            records += changed
        except ApiError as error:
            response.error_code = error.code
            response.error_message = error.message
        responses.append(response)
        yield
    return Outcome(
        [] if request.validate_only else records, AlterClientQuotasResponse(entries=responses)
    )


def _alter_entity(
    state: ControllerState, entry: EntryData, seen: set[QuotaEntity]
) -> list[Message]:
    names: dict[str, str | None] = {}
    for part in entry.entity:
        if part.entity_type in names:
            raise _invalid(
                f"Invalid client quota entity, duplicate entity entry {part.entity_type}"
            )
        if part.entity_type not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {part.entity_type}")
        if part.entity_name == "":
            raise _invalid(f"Empty {part.entity_type} not supported")
        names[part.entity_type] = part.entity_name
    allowed = _allowed_quotas(names)
    entity: QuotaEntity = tuple(sorted(names.items(), key=lambda pair: pair[0]))
    if entity in seen:
        raise _invalid(f"Ignoring duplicate entity {dict(entity)}")
    seen.add(entity)
    current = state.image.client_quotas.get(entity, {})
    keys: set[str] = set()
    records: list[Message] = []
    for op in entry.ops:
        if op.key in keys:
            raise _invalid(
                f"Duplicate quota key {op.key} not updating quota for this entity {dict(entity)}"
            )
        keys.add(op.key)
        if op.remove:
            is_change = op.key in current
        else:
            _check_value(allowed, op.key, op.value)
            is_change = current.get(op.key) != op.value
        if is_change:
            records.append(
                ClientQuotaRecord(
                    entity=[RecordEntity(entity_type=kind, entity_name=n) for kind, n in entity],
                    key=op.key,
                    value=0.0 if op.remove else op.value,
                    remove=op.remove,
                )
            )
    return records


def _allowed_quotas(names: dict[str, str | None]) -> dict[str, float | None]:
    if not names:
        raise _invalid("Invalid empty client quota entity")
    if IP not in names:
        return _CLIENT_QUOTAS
    if len(names) > 1:
        raise _invalid(
            "Invalid quota entity combination, IP entity should not be combined with "
            "User or ClientId"
        )
    address = names[IP]
    if address is not None:
        try:
            ipaddress.ip_address(address)
        except ValueError:
            raise _invalid(f"{address} is not a valid IP or resolvable host.") from None
    return _IP_QUOTAS


def _check_value(allowed: dict[str, float | None], key: str, value: float) -> None:
    if key not in allowed:
        raise _invalid(f"Invalid configuration key {key}")
    if not value > 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    highest = allowed[key]
    if highest is None:
        return
    if value > highest:
        raise _invalid(f"Proposed value for {key} is too large.")
    if value % 1.0 > 1e-6:
        raise _invalid(f"{key} cannot be a fractional value.")


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, message)


def describe_client_quotas(
    image: MetadataImage, request: DescribeClientQuotasRequest
) -> Generator[None, None, DescribeClientQuotasResponse]:
    """The quotas that match the filter; if strict, only with the entity types of the filter.

    An entity is a step.
    """
    try:
        exact, specified = _filter(request)
    except ApiError as error:
        return DescribeClientQuotasResponse(
            error_code=error.code, error_message=error.message, entries=None
        )
    entries = []
    for entity, quotas in image.client_quotas.items():
        yield
        names = dict(entity)
        if request.strict and len(names) != len(exact) + len(specified):
            continue
        is_exact = all(kind in names and names[kind] == name for kind, name in exact.items())
        if is_exact and all(kind in names for kind in specified):
            entries.append(
                DescribedEntry(
                    entity=[EntityData(entity_type=kind, entity_name=n) for kind, n in entity],
                    values=[ValueData(key=key, value=value) for key, value in quotas.items()],
                )
            )
    return DescribeClientQuotasResponse(error_message=None, entries=entries)


def _filter(request: DescribeClientQuotasRequest) -> tuple[dict[str, str | None], list[str]]:
    exact: dict[str, str | None] = {}
    specified: list[str] = []
    for component in request.components:
        kind = component.entity_type
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in exact or kind in specified:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        if component.match_type == _EXACT:
            if component.match is None:
                raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
            exact[kind] = component.match
        elif component.match_type in (_DEFAULT, _SPECIFIED):
            if component.match is not None:
                name = "DEFAULT" if component.match_type == _DEFAULT else "SPECIFIED"
                raise _invalid(
                    f"Request specified MATCH_TYPE_{name}, but also specified a match string."
                )
            if component.match_type == _DEFAULT:
                exact[kind] = None
            else:
                specified.append(kind)
        else:
            raise _invalid(f"Unknown match type {component.match_type}")
    kinds = {*exact, *specified}
    if IP in kinds and len(kinds) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be "
            "used with user or clientId filter component."
        )
    return exact, specified
