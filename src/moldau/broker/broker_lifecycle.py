"""The requests of a node to the controller about itself, from registration to controlled shutdown.

A remote broker would send these requests over the network. Here the controller is in the same
process, so it is called directly. The records of each decision are written to the metadata log
before the next request, because the next decision depends on them.
"""

import random
from collections.abc import Callable, Sequence

from moldau.broker.registration import broker_registration, controller_registration
from moldau.config.broker import BrokerConfig
from moldau.config.listeners import Listener
from moldau.controller.controller import Controller
from moldau.ids import new_uuid
from moldau.metadata.features import METADATA_3_7_IV0
from moldau.protocol.message import Message
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.storage.partition_log import PartitionLog


class BrokerLifecycle:
    """One incarnation of a node. ``broker_epoch`` is -1 until its broker is registered."""

    def __init__(
        self,
        config: BrokerConfig,
        controller: Controller,
        log: PartitionLog,
        write: Callable[[Sequence[Message]], None],
    ) -> None:
        """``log`` is the metadata log, ``write`` appends records to it."""
        self._config = config
        self._controller = controller
        self._log = log
        self._write = write
        self.broker_epoch = -1
        # The ids of directories that get no new partitions.
        self.cordoned: Sequence[bytes] = ()

    def register(
        self,
        advertised: Sequence[Listener],
        controllers: Sequence[Listener],
        log_dirs: Sequence[bytes],
        previous_broker_epoch: int,
        rng: random.Random,
    ) -> None:
        """Register the controller and, if this node is a broker, register and unfence it."""
        config = self._config
        controller = self._controller
        incarnation_id = new_uuid(rng)
        while incarnation_id in self._former_incarnations():
            incarnation_id = new_uuid(rng)
        if controller.image.metadata_version >= METADATA_3_7_IV0:
            introduction = controller_registration(config.node_id, incarnation_id, controllers)
            self._write(controller.register_controller(introduction).records)
        if not config.is_broker:
            return
        request = broker_registration(
            config,
            controller.state.cluster_id,
            incarnation_id,
            advertised,
            log_dirs,
            previous_broker_epoch,
        )
        outcome = controller.register_broker(request, self._log.log_end_offset)
        self._write(outcome.records)
        self.broker_epoch = outcome.response.broker_epoch
        self._heartbeat()
        self._write(controller.mark_recovered(config.node_id))

    def _former_incarnations(self) -> list[bytes]:
        image = self._controller.image
        brokers = [broker.incarnation_id for broker in image.brokers.values()]
        return brokers + [each.incarnation_id for each in image.controllers.values()]

    def heartbeat_request(self) -> BrokerHeartbeatRequest:
        return BrokerHeartbeatRequest(
            broker_id=self._config.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._log.log_end_offset,
            cordoned_log_dirs=list(self.cordoned),
        )

    def shut_down(self) -> None:
        """Give up all leaderships: one heartbeat asks for it, another one completes it."""
        if self.broker_epoch >= 0:
            self._heartbeat(want_shut_down=True)
            self._heartbeat(want_shut_down=True)

    def _heartbeat(self, *, want_shut_down: bool = False) -> None:
        request = self.heartbeat_request()
        request.want_shut_down = want_shut_down
        self._write(self._controller.broker_heartbeat(request).records)
