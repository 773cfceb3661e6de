"""Changes of log levels, which each node makes for itself (KIP-412).

They come in one request with changes of the cluster's configurations, on which the active
controller decides.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from moldau.broker.log_levels import LogLevels
from moldau.errors import ApiError
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


class LoggerConfigs:
    """The levels of this node's loggers. ``decide`` answers everything else.

    ``replace`` is called if that is less than the request was.
    """

    def __init__(
        self,
        node_id: int,
        log_levels: LogLevels,
        turns: Turns,
        decide: Decide,
        replace: Callable[[IncrementalAlterConfigsRequest, "RequestContext"], None] | None = None,
    ) -> None:
        self._node_id = node_id
        self._log_levels = log_levels
        self._turns = turns
        self._decide = decide
        self._replace = replace

    async def alter(
        self, request: IncrementalAlterConfigsRequest, context: "RequestContext"
    ) -> IncrementalAlterConfigsResponse:
        """Change log levels here, and let others decide on the rest."""
        others = await self._turns.complete(_without_loggers(request))
        if len(others) == len(request.resources):
            return await self._decide(request, context)
        rest = IncrementalAlterConfigsRequest(resources=others, validate_only=request.validate_only)
        if self._replace is not None:
            self._replace(rest, context)
        decided = await self._decide(rest, context)
        return await self._turns.complete(self._with_loggers(request, decided))

    def _with_loggers(
        self, request: IncrementalAlterConfigsRequest, decided: IncrementalAlterConfigsResponse
    ) -> Steps[IncrementalAlterConfigsResponse]:
        answers = iter(decided.responses)
        response = IncrementalAlterConfigsResponse()
        for each in request.resources:
            response.responses.append(
                self._alter_loggers(each, request.validate_only)
                if each.resource_type == BROKER_LOGGER_RESOURCE
                else next(answers)
            )
            yield
        return response

    def _alter_loggers(
        self, resource: AlterConfigsResource, validate_only: bool
    ) -> AlterConfigsResourceResponse:
        response = AlterConfigsResourceResponse(
            error_message=None,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        changes = [(each.name, each.config_operation, each.value) for each in resource.configs]
        try:
            self._log_levels.check(resource.resource_name, self._node_id, changes)
        except ApiError as error:
            response.error_code = error.code
            response.error_message = error.message
        else:
            if not validate_only:
                self._log_levels.apply(changes)
        return response


def _without_loggers(request: IncrementalAlterConfigsRequest) -> Steps[list[AlterConfigsResource]]:
    others = []
    for each in request.resources:
        if each.resource_type != BROKER_LOGGER_RESOURCE:
            others.append(each)
        yield
    return others
