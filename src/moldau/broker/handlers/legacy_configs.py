"""AlterConfigs, the request before IncrementalAlterConfigs: it replaces all settings of a resource.

The active controller decides, except on what only this broker can validate of its own settings.
"""

from typing import TYPE_CHECKING

from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.forwarding import Forwarding
from moldau.broker.own_settings import check_own_replacement
from moldau.errors import ApiError
from moldau.metadata.image import BROKER_RESOURCE
from moldau.network.turns import Steps, Turns
from moldau.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext


class LegacyConfigs:
    """Refuses unknown directories of this broker, and forwards the rest of a request."""

    def __init__(self, configs: DynamicConfig, forwarding: Forwarding, turns: Turns) -> None:
        self._configs = configs
        self._forwarding = forwarding
        self._turns = turns

    async def alter(
        self, request: AlterConfigsRequest, context: "RequestContext"
    ) -> AlterConfigsResponse:
        places = await self._turns.complete(self._own_places(request))
        # One that is named twice is refused as such by the controller, both times.
        refusal = self._refusal(request, places[0]) if len(places) == 1 else None
        if refusal is not None:
            [place] = places
            others = request.resources[:place] + request.resources[place + 1 :]
            request = AlterConfigsRequest(resources=others, validate_only=request.validate_only)
            self._forwarding.replace(request, context)
        response = await self._forwarding.change(request, context)
        assert isinstance(response, AlterConfigsResponse)
        if refusal is not None:
            response.responses.insert(place, refusal)
        return response

    def _own_places(self, request: AlterConfigsRequest) -> Steps[list[int]]:
        """Where the settings of this broker are in the request."""
        name = str(self._configs.static.node_id)
        places = []
        for place, each in enumerate(request.resources):
            if each.resource_type == BROKER_RESOURCE and each.resource_name == name:
                places.append(place)
            yield
        return places

    def _refusal(
        self, request: AlterConfigsRequest, place: int
    ) -> AlterConfigsResourceResponse | None:
        resource = request.resources[place]
        try:
            check_own_replacement(self._configs, resource)
        except ApiError as error:
            return AlterConfigsResourceResponse(
                error_code=error.code,
                error_message=error.message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
        return None
