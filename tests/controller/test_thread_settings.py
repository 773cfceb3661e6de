"""The number of threads changes by half or double at most."""

import pytest

from moldau.controller.configs import ConfigOperation
from moldau.controller.thread_settings import THREAD_SETTINGS
from moldau.errors import ErrorCode
from moldau.metadata.image import BROKER_RESOURCE
from tests.controller.cluster import Cluster
from tests.controller.test_configs import alter, resource

SET, DELETE = ConfigOperation.SET, ConfigOperation.DELETE
REFUSED = int(ErrorCode.INVALID_REQUEST)
CLEANERS = "log.cleaner.threads"


def set_to(cluster: Cluster, value: int | None, broker: str = "", name: str = CLEANERS) -> int:
    """The error code of the change."""
    change = (name, DELETE, None) if value is None else (name, SET, str(value))
    [(code, _)] = alter(cluster, resource(BROKER_RESOURCE, broker, change))
    return code


def test_a_step_goes_to_half_or_double_at_most() -> None:
    cluster = Cluster(settings={CLEANERS: "6"})
    assert [set_to(cluster, value) for value in (13, 2, 0)] == [REFUSED] * 3
    assert [set_to(cluster, value) for value in (12, 24, 12, 6, 3, 1, 2)] == [0] * 7


@pytest.mark.parametrize("name", THREAD_SETTINGS)
def test_the_rule_holds_for_every_kind_of_threads(name: str) -> None:
    cluster = Cluster(settings={name: "5"})
    assert set_to(cluster, 11, name=name) == REFUSED
    assert set_to(cluster, 10, name=name) == 0


def test_the_message_says_what_would_be_taken() -> None:
    cluster = Cluster(settings={CLEANERS: "6"})
    [(_, message)] = alter(cluster, resource(BROKER_RESOURCE, "", (CLEANERS, SET, "50")))
    assert message == "log.cleaner.threads is 6 now and can be set to 3 to 12 at once, not to 50"


def test_taking_a_setting_back_is_a_change_like_any_other() -> None:
    cluster = Cluster(settings={CLEANERS: "1"})
    assert [set_to(cluster, value) for value in (2, 4)] == [0, 0]
    assert set_to(cluster, None) == REFUSED
    assert [set_to(cluster, 2), set_to(cluster, None)] == [0, 0]


def test_a_brokers_own_setting_comes_before_that_of_the_cluster() -> None:
    cluster = Cluster(settings={CLEANERS: "1"})
    assert set_to(cluster, 2, broker="1") == 0
    # It does not change the effective value of broker 1, which handles the request.
    assert set_to(cluster, 100) == 0
    assert set_to(cluster, None, broker="1") == REFUSED
