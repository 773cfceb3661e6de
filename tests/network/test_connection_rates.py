"""Connections above the rate of the broker, listener or address wait (KIP-612)."""

from moldau.network.connection_rates import ConnectionRates
from moldau.network.limits import ServerLimits
from moldau.network.rate import RateWindow

# Two samples of a second: one idle second is assumed, so a limit of n allows n immediately.
WINDOW = RateWindow(samples=2, sample_ms=1000)
CLIENTS = "CLIENTS"
BROKERS = "BROKERS"
ALICE = "192.0.2.1"
BOB = "192.0.2.2"


def rates(
    broker: int = 1000,
    listeners: dict[str, int] | None = None,
    default_ip: float = 1000,
    ips: dict[str, float] | None = None,
) -> ConnectionRates:
    limits = ServerLimits(
        max_connection_rate=broker,
        listener_connection_rates=listeners or {},
        default_ip_connection_rate=default_ip,
        ip_connection_rates=ips or {},
        rate_window=WINDOW,
    )
    return ConnectionRates(limits, [CLIENTS, BROKERS])


def waits(
    meter: ConnectionRates, times: int, listener: str = CLIENTS, now_ms: int = 0
) -> list[int]:
    """The wait of each of several connections at the same time."""
    is_protected = listener == BROKERS
    return [meter.wait_ms(listener, is_protected, now_ms) for _ in range(times)]


def ip_waits(meter: ConnectionRates, ip: str, times: int, now_ms: int = 0) -> list[int]:
    found = []
    for _ in range(times):
        meter.wait_ms(CLIENTS, False, now_ms)
        found.append(meter.ip_wait_ms(CLIENTS, False, ip, now_ms))
    return found


def test_connections_above_the_broker_s_rate_wait() -> None:
    assert waits(rates(broker=4), 6) == [0, 0, 0, 0, 250, 500]


def test_a_listener_may_have_a_rate_of_its_own_and_the_longer_wait_counts() -> None:
    meter = rates(broker=4, listeners={CLIENTS: 2})
    assert waits(meter, 5) == [0, 0, 500, 1000, 1000]


def test_brokers_do_not_wait_for_the_crowd() -> None:
    meter = rates(broker=2)
    assert waits(meter, 3) == [0, 0, 500]
    assert waits(meter, 3, BROKERS) == [0, 0, 0]
    assert waits(meter, 1) == [1000], "and brokers are not part of it"


def test_brokers_keep_to_the_rate_of_their_listener() -> None:
    assert waits(rates(listeners={BROKERS: 1}), 2, BROKERS) == [0, 1000]


def test_an_address_waits_for_itself_alone() -> None:
    meter = rates(ips={ALICE: 2})
    assert ip_waits(meter, ALICE, 4) == [0, 0, 500, 500], "those turned away do not count"
    assert ip_waits(meter, BOB, 4) == [0, 0, 0, 0]


def test_the_default_holds_for_addresses_without_a_rate_of_their_own() -> None:
    meter = rates(default_ip=1, ips={ALICE: 3})
    assert ip_waits(meter, ALICE, 4) == [0, 0, 0, 333]
    assert ip_waits(meter, BOB, 2) == [0, 1000]


def test_what_an_address_is_refused_stays_there_for_others() -> None:
    meter = rates(broker=4, listeners={CLIENTS: 4}, ips={ALICE: 1})
    assert ip_waits(meter, ALICE, 50)[1:] == [1000] * 49
    assert waits(meter, 4) == [0, 0, 0, 250]


def test_what_an_address_is_refused_among_brokers_makes_no_room_for_the_crowd() -> None:
    meter = rates(broker=2, ips={ALICE: 1})
    refused = []
    for _ in range(3):
        meter.wait_ms(BROKERS, True, 0)
        refused.append(meter.ip_wait_ms(BROKERS, True, ALICE, 0))
    assert refused == [0, 1000, 1000]
    assert waits(meter, 3) == [0, 0, 500]


def test_new_limits_hold_for_what_was_counted_before() -> None:
    meter = rates(broker=1000)
    assert waits(meter, 4) == [0] * 4
    meter.limits = rates(broker=4).limits
    assert waits(meter, 1) == [250]


def test_quiet_addresses_are_forgotten() -> None:
    meter = rates(default_ip=10)
    for number in range(10_000):
        meter.ip_wait_ms(CLIENTS, False, f"192.0.{number >> 8}.{number & 255}", now_ms=number)
    assert len(meter._by_ip) <= 2 * WINDOW.length_ms, "no more than came within the window, twice"
