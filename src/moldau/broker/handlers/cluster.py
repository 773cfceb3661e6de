"""ApiVersions and DescribeCluster: the APIs and features of this node, and the other nodes."""

from typing import TYPE_CHECKING, Final

from moldau.broker.metadata_cache import MetadataCache, QuorumSource
from moldau.broker.version_answers import describe_versions
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.features import METADATA_3_7_IV0
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from moldau.broker.dispatch import RequestContext

# Every operation on the cluster, as a bit set: without an authorizer, all are allowed. CREATE 5,
# ALTER 7, DESCRIBE 8, CLUSTER_ACTION 9, DESCRIBE_CONFIGS 10, ALTER_CONFIGS 11, IDEMPOTENT_WRITE 12.
CLUSTER_OPERATIONS: Final = sum(1 << bit for bit in (5, 7, 8, 9, 10, 11, 12))
FIRST_VERSION_WITH_SOFTWARE: Final = 3
BROKER_ENDPOINTS: Final = 1
CONTROLLER_ENDPOINTS: Final = 2
FIRST_VERSION_WITH_TYPES: Final = 1
NO_NODE: Final = -1

_ENDPOINT_TYPES: Final = {BROKER_ENDPOINTS: "BROKER", CONTROLLER_ENDPOINTS: "CONTROLLER"}


class Cluster:
    """Describes this node and the cluster, to clients and to controllers."""

    def __init__(self, node_id: int, metadata: MetadataCache, quorum: QuorumSource) -> None:
        self._node_id = node_id
        self._metadata = metadata
        self._quorum = quorum

    def api_versions(
        self, request: ApiVersionsRequest, context: "RequestContext"
    ) -> ApiVersionsResponse:
        if context.api_version >= FIRST_VERSION_WITH_SOFTWARE:
            session = context.session
            session.client_software_name = request.client_software_name
            session.client_software_version = request.client_software_version
            for text in (request.client_software_name, request.client_software_version):
                if not _is_software_name(text):
                    return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        kraft_version = self._quorum.quorum.kraft_version
        served = context.dispatcher.handlers.values()
        return describe_versions(served, self._metadata.image, kraft_version, context.api_version)

    def describe_brokers(
        self, request: DescribeClusterRequest, context: "RequestContext"
    ) -> DescribeClusterResponse:
        """DescribeCluster on a listener of brokers."""
        _check_endpoint_type(request, context.api_version, BROKER_ENDPOINTS)
        nodes = []
        for registration in self._metadata.image.brokers.values():
            endpoint = registration.endpoint(context.session.listener)
            if endpoint is None or (registration.fenced and not request.include_fenced_brokers):
                continue
            nodes.append(
                DescribeClusterBroker(
                    broker_id=registration.id,
                    host=endpoint.host,
                    port=endpoint.port,
                    rack=registration.rack,
                    is_fenced=registration.fenced,
                )
            )
        # Clients cannot reach the controller, but any broker that is alive forwards to it.
        return self._described(request, nodes, alive_broker(self._metadata.image, self._node_id))

    def describe_controllers(
        self, request: DescribeClusterRequest, context: "RequestContext"
    ) -> DescribeClusterResponse:
        """DescribeCluster on a listener of controllers (KIP-919)."""
        image = self._metadata.image
        if image.metadata_version < METADATA_3_7_IV0:
            message = "controllers are not registered at this metadata.version"
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, message)
        _check_endpoint_type(request, context.api_version, CONTROLLER_ENDPOINTS)
        nodes = [
            DescribeClusterBroker(broker_id=each.id, host=endpoint.host, port=endpoint.port)
            for each in image.controllers.values()
            for endpoint in each.endpoints
            if endpoint.name == context.session.listener
        ]
        return self._described(request, nodes, self._quorum.quorum.leader_id)

    def _described(
        self,
        request: DescribeClusterRequest,
        nodes: list[DescribeClusterBroker],
        controller_id: int,
    ) -> DescribeClusterResponse:
        # A client that is told an id wants to find it among the nodes.
        is_known = any(node.broker_id == controller_id for node in nodes)
        response = DescribeClusterResponse(
            error_message=None,
            endpoint_type=request.endpoint_type,
            cluster_id=self._quorum.cluster_id,
            controller_id=controller_id if is_known else NO_NODE,
            brokers=nodes,
        )
        if request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = CLUSTER_OPERATIONS
        return response


def alive_broker(image: MetadataImage, node_id: int) -> int:
    """A broker that is not fenced: ``node_id`` if possible, -1 if there is none."""
    own = image.brokers.get(node_id)
    if own is not None and not own.fenced:
        return node_id
    return next((each.id for each in image.brokers.values() if not each.fenced), NO_NODE)


def _check_endpoint_type(request: DescribeClusterRequest, version: int, served: int) -> None:
    wanted = request.endpoint_type
    if wanted == served:
        return
    if wanted in _ENDPOINT_TYPES:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        message = (
            f"The request was sent to an endpoint of type {_ENDPOINT_TYPES[served]}, but we wanted "
            f"an endpoint of type {_ENDPOINT_TYPES[wanted]}"
        )
    else:
        code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        message = f"Unsupported endpoint type {wanted}"
    raise ApiError(
        code if version >= FIRST_VERSION_WITH_TYPES else ErrorCode.INVALID_REQUEST, message
    )


def _is_software_name(name: str) -> bool:
    """KIP-511: letters, digits, dots and dashes, with a letter or digit at both ends."""
    return (
        bool(name)
        and name.isascii()
        and name[0].isalnum()
        and name[-1].isalnum()
        and all(char.isalnum() or char in ".-" for char in name)
    )
