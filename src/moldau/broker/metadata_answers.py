"""Caches large Metadata responses as bytes until the metadata changes.

Every client asks for the same topics when it starts and every few minutes after that, and after a
restart of the broker all of them ask at once. Describing ten thousand partitions takes tens of
milliseconds, in which no other request is served; sending the cached bytes takes almost none.

Rules this module keeps:

* A response belongs to one image. When the image changes, all cached responses are dropped.
* Responses that are cheap to build are not cached, and the total size is limited.
* Concurrent identical requests share one response.
"""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Final

from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse
from moldau.protocol.primitives import Part

MIN_BYTES: Final = 4096
MAX_TOTAL_BYTES: Final = 8 << 20


class EncodedAnswer:
    """A response that is already encoded, in the version of the request."""

    __slots__ = ("_body",)

    def __init__(self, body: bytes) -> None:
        self._body = body

    def encode_parts(self, writer_prefix: bytes, version: int) -> list[Part]:
        return [writer_prefix + self._body]


class MetadataAnswers:
    """The responses of one broker, by listener, version and request."""

    __slots__ = ("_answers", "_image", "_making", "_max_total_bytes", "_total_bytes")

    def __init__(self, max_total_bytes: int = MAX_TOTAL_BYTES) -> None:
        self._max_total_bytes = max_total_bytes
        self._image: MetadataImage | None = None
        self._answers: dict[Hashable, EncodedAnswer] = {}
        self._total_bytes = 0
        self._making: dict[Hashable, asyncio.Task[EncodedAnswer]] = {}

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, image: MetadataImage, key: Hashable) -> EncodedAnswer | None:
        """The cached response to the same request for the same image."""
        if image is not self._image:
            self._image = image
            self._answers.clear()
            self._making = {}
            self._total_bytes = 0
        return self._answers.get(key)

    async def share(
        self, image: MetadataImage, key: Hashable, make: Callable[[], Awaitable[bytes]]
    ) -> EncodedAnswer:
        """The result of ``make``, shared with concurrent callers. To be called after ``find``."""
        making = self._making.get(key) if image is self._image else None
        if making is None:
            making = asyncio.get_running_loop().create_task(self._make(image, key, make))
            if image is self._image:
                self._making[key] = making
        # The first client may disconnect while others still wait.
        return await asyncio.shield(making)

    async def _make(
        self, image: MetadataImage, key: Hashable, make: Callable[[], Awaitable[bytes]]
    ) -> EncodedAnswer:
        try:
            answer = EncodedAnswer(body := await make())
        finally:
            if image is self._image:
                self._making.pop(key, None)
        if image is self._image:
            self._keep(key, answer, len(body))
        return answer

    def keep(
        self, key: Hashable, response: MetadataResponse, version: int
    ) -> MetadataResponse | EncodedAnswer:
        """The response, cached if it is large enough. To be called after ``find``."""
        partitions = sum(len(topic.partitions) for topic in response.topics)
        # A partition takes about 40 bytes, so small responses need not be encoded to know.
        if 40 * partitions < MIN_BYTES:
            return response
        body = response.encode(version)
        answer = EncodedAnswer(body)
        self._keep(key, answer, len(body))
        return answer

    def _keep(self, key: Hashable, answer: EncodedAnswer, size_bytes: int) -> None:
        if self._total_bytes + size_bytes <= self._max_total_bytes:
            self._total_bytes += size_bytes
            self._answers[key] = answer


def question_key(listener: str, version: int, request: MetadataRequest) -> Hashable:
    """Everything a response depends on besides the image."""
    topics = request.topics
    return (
        listener,
        version,
        None if topics is None else tuple((topic.topic_id, topic.name) for topic in topics),
        request.include_cluster_authorized_operations,
        request.include_topic_authorized_operations,
    )
