"""Changes of log levels, which each node makes for itself (KIP-412).

They come in one request with changes of the cluster's configurations, on which the active
controller decides. What only this node can validate, it refuses itself (``Refuse``).
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from moldau.broker.log_levels import LogLevels
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.image import BROKER_LOGGER_RESOURCE
from moldau.network.turns import Steps, Turns
from moldau.protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

Decide = Callable[
    [IncrementalAlterConfigsRequest, "RequestContext"], Awaitable[IncrementalAlterConfigsResponse]
]
# Raises ApiError if a resource cannot have these changes.
Refuse = Callable[[AlterConfigsResource], None]


class LoggerConfigs:
    """The levels of this node's loggers. ``decide`` answers everything else.

    ``replace`` is called if that is less than the request was, because it has log levels, or
    resources that ``refuse`` refuses.
    """

    def __init__(
        self,
        node_id: int,
        log_levels: LogLevels,
        turns: Turns,
        decide: Decide,
        replace: Callable[[IncrementalAlterConfigsRequest, "RequestContext"], None] | None = None,
        refuse: Refuse | None = None,
    ) -> None:
        self._node_id = node_id
        self._log_levels = log_levels
        self._turns = turns
        self._decide = decide
        self._replace = replace
        self._refuse = refuse

    async def alter(
        self, request: IncrementalAlterConfigsRequest, context: "RequestContext"
    ) -> IncrementalAlterConfigsResponse:
        """Change log levels here, and let others decide on the rest."""
        answers, others = await self._turns.complete(self._answered_here(request))
        if len(others) == len(request.resources):
            return await self._decide(request, context)
        rest = IncrementalAlterConfigsRequest(resources=others, validate_only=request.validate_only)
        if self._replace is not None:
            self._replace(rest, context)
        decided = await self._decide(rest, context)
        return await self._turns.complete(self._merged(request, answers, decided))

    def _answered_here(
        self, request: IncrementalAlterConfigsRequest
    ) -> Steps[tuple[dict[int, AlterConfigsResourceResponse], list[AlterConfigsResource]]]:
        """The answers to refused resources, by position, and what others decide."""
        names: dict[tuple[int, str], int] = {}
        for each in request.resources:
            name = (each.resource_type, each.resource_name)
            names[name] = names.get(name, 0) + 1
            yield
        answers: dict[int, AlterConfigsResourceResponse] = {}
        others = []
        for position, each in enumerate(request.resources):
            if each.resource_type == BROKER_LOGGER_RESOURCE:
                continue
            try:
                # One that is named twice is refused as such, both times.
                is_once = names[each.resource_type, each.resource_name] == 1
                if self._refuse is not None and is_once:
                    self._refuse(each)
                others.append(each)
            except ApiError as error:
                answers[position] = _answer(each, error)
            yield
        return answers, others

    def _merged(
        self,
        request: IncrementalAlterConfigsRequest,
        answers: dict[int, AlterConfigsResourceResponse],
        decided: IncrementalAlterConfigsResponse,
    ) -> Steps[IncrementalAlterConfigsResponse]:
        # Apache Kafka's controllers answer in any order.
        decisions = {(each.resource_type, each.resource_name): each for each in decided.responses}
        response = IncrementalAlterConfigsResponse()
        for position, each in enumerate(request.resources):
            if each.resource_type == BROKER_LOGGER_RESOURCE:
                answer = self._alter_loggers(each, request.validate_only)
            else:
                name = (each.resource_type, each.resource_name)
                answer = answers.get(position) or decisions.get(name) or _unanswered(each)
            response.responses.append(answer)
            yield
        return response

    def _alter_loggers(
        self, resource: AlterConfigsResource, validate_only: bool
    ) -> AlterConfigsResourceResponse:
        changes = [(each.name, each.config_operation, each.value) for each in resource.configs]
        try:
            self._log_levels.check(resource.resource_name, self._node_id, changes)
        except ApiError as error:
            return _answer(resource, error)
        if not validate_only:
            self._log_levels.apply(changes)
        return _answer(resource)


def _unanswered(resource: AlterConfigsResource) -> AlterConfigsResourceResponse:
    # The resources beside it were decided, and log levels are changed: they have their answers.
    message = "the controller's response leaves out this resource"
    return _answer(resource, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, message))


def _answer(
    resource: AlterConfigsResource, error: ApiError | None = None
) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
