"""Limits on changing the number of threads of a running broker.

As in Kafka, a change may at most halve or double the current number, so that a typing error
cannot stop a busy broker. The rule applies to the effective value on this node: a setting of the
broker overrides that of the cluster, which overrides that of the properties file.
"""

from collections.abc import Mapping
from typing import Final

from moldau.controller.state import ControllerState
from moldau.errors import ApiError, ErrorCode
from moldau.metadata.image import BROKER_RESOURCE

THREAD_SETTINGS: Final = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)
_WHOLE_CLUSTER: Final = ""


def validate_threads(state: ControllerState, broker: str, settings: Mapping[str, str]) -> None:
    """Check new settings of ``broker``, or of the cluster if it is empty.

    The values are already validated one by one. Raises ApiError: INVALID_REQUEST.
    """
    own = str(state.node_id)
    before = [state.image.config(BROKER_RESOURCE, name) for name in (own, _WHOLE_CLUSTER)]
    after = [settings if broker == own else before[0]]
    after.append(settings if broker == _WHOLE_CLUSTER else before[1])
    for name in THREAD_SETTINGS:
        static: int = getattr(state.config, name.replace(".", "_"))
        old, new = (_effective(name, layers, static) for layers in (before, after))
        lowest, highest = max(old // 2, 1), 2 * old
        if new != old and not lowest <= new <= highest:
            message = (
                f"{name} is {old} now and can be set to {lowest} to {highest} at once, not to {new}"
            )
            raise ApiError(ErrorCode.INVALID_REQUEST, message)


def _effective(name: str, layers: list[Mapping[str, str]], static: int) -> int:
    return next((int(layer[name]) for layer in layers if name in layer), static)
