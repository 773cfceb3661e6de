"""The registration of a node with the controller."""

from collections.abc import Sequence

from moldau.config.broker import BrokerConfig
from moldau.config.listeners import SECURITY_PROTOCOL_IDS, Listener
from moldau.metadata.features import SUPPORTED_FEATURES
from moldau.metadata.introduction import Endpoint, endpoint_fields, feature_fields
from moldau.protocol.messages import broker_registration as broker
from moldau.protocol.messages import controller_registration as controller
from moldau.storage.disk.checkpoint import read_clean_shutdown
from moldau.storage.disk.disk import Disk


def previous_broker_epoch(config: BrokerConfig, disk: Disk) -> int:
    """The broker epoch before a clean shutdown; -1 if any directory was not closed cleanly."""
    try:
        epochs = {read_clean_shutdown(disk, path) for path in config.log_dirs}
    except OSError:
        # An unreadable disk does not prove a clean shutdown.
        return -1
    epoch = epochs.pop() if len(epochs) == 1 else None
    return -1 if epoch is None else epoch


def broker_registration(
    config: BrokerConfig,
    cluster_id: str,
    incarnation_id: bytes,
    advertised: Sequence[Listener],
    log_dirs: Sequence[bytes],
    previous_epoch: int,
) -> broker.BrokerRegistrationRequest:
    return broker.BrokerRegistrationRequest(
        broker_id=config.node_id,
        cluster_id=cluster_id,
        incarnation_id=incarnation_id,
        listeners=endpoint_fields(broker.Listener, _endpoints(advertised)),
        features=feature_fields(broker.Feature, SUPPORTED_FEATURES),
        rack=config.broker_rack,
        log_dirs=list(log_dirs),
        previous_broker_epoch=previous_epoch,
    )


def controller_registration(
    node_id: int, incarnation_id: bytes, listeners: Sequence[Listener]
) -> controller.ControllerRegistrationRequest:
    return controller.ControllerRegistrationRequest(
        controller_id=node_id,
        incarnation_id=incarnation_id,
        listeners=endpoint_fields(controller.Listener, _endpoints(listeners)),
        features=feature_fields(controller.Feature, SUPPORTED_FEATURES),
    )


def _endpoints(listeners: Sequence[Listener]) -> list[Endpoint]:
    return [
        Endpoint(each.name, each.host, each.port, SECURITY_PROTOCOL_IDS[each.security_protocol])
        for each in listeners
    ]
