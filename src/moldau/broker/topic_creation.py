"""Creates topics that clients use without having created them, and internal ones."""

from collections.abc import Sequence

from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.forwarding import Forwarding
from moldau.broker.internal_topics import creatable_topic
from moldau.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse


class TopicCreation:
    """Asks the controller for topics with the settings of this broker."""

    def __init__(self, configs: DynamicConfig, forwarding: Forwarding) -> None:
        self._configs = configs
        self._forwarding = forwarding

    async def create(self, names: Sequence[str]) -> CreateTopicsResponse:
        """Create the topics. One that exists or has an invalid name gets its error.

        Raises:
            ApiError: the controller could not be reached, or cannot write.
        """
        config = self._configs.broker
        topics = [creatable_topic(name, config) for name in dict.fromkeys(names)]
        response = await self._forwarding.send(CreateTopicsRequest(topics=topics))
        assert isinstance(response, CreateTopicsResponse)
        return response
