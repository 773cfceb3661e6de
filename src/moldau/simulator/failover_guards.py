"""The guards of the detection of failures: without one of them, somebody alive is taken for dead,
or somebody dead for alive. Each names the scenario that fails then.
"""

from typing import Final

from moldau.simulator.mutations import Edit, Mutant

_LIVENESS: Final = "controller/liveness.py"
_SCENARIOS: Final = "tests/simulator/test_failover.py"
_LOST: Final = "tests/simulator/test_lost_leaders.py"

FAILOVER_GUARDS: Final = (
    Mutant(
        "refused probe counted once",
        Edit(_LIVENESS, "REFUSALS_NEEDED: Final = 2\n", "REFUSALS_NEEDED: Final = 1\n"),
        scenario=f"{_SCENARIOS}::test_a_listener_that_refuses_for_a_moment_fences_nobody",
    ),
    Mutant(
        "two probes without a pause",
        Edit(_LIVENESS, "PROBE_PAUSE_MS: Final = 100\n", "PROBE_PAUSE_MS: Final = 0\n"),
        scenario=f"{_SCENARIOS}::test_a_listener_that_refuses_for_a_moment_fences_nobody",
    ),
    Mutant(
        "probes as soon as the last connection has closed",
        Edit(_LIVENESS, "QUIET_MS: Final = 150\n", "QUIET_MS: Final = 0\n"),
        scenario=f"{_SCENARIOS}::"
        "test_a_listener_that_refuses_as_long_as_connections_may_come_back_fences_nobody",
    ),
    Mutant(
        "accepted probe counted as a refusal",
        Edit(
            "broker/failure_detection.py",
            "            if result is not ProbeResult.REFUSED:\n",
            "            if result is ProbeResult.UNKNOWN:\n",
        ),
        scenario=f"{_SCENARIOS}::test_a_broker_that_hangs_and_loses_its_connections_is_not_fenced",
    ),
    Mutant(
        "unanswered probe counted as a refusal",
        Edit(
            "broker/failure_detection.py",
            "            if result is not ProbeResult.REFUSED:\n",
            "            if result is ProbeResult.ACCEPTED:\n",
        ),
        scenario=f"{_SCENARIOS}::"
        "test_a_broker_that_is_cut_off_one_way_for_two_seconds_is_not_fenced",
    ),
    Mutant(
        "one closed connection is enough",
        Edit(
            _LIVENESS,
            "        if self._is_active and traces.is_silent:\n",
            "        if self._is_active:\n",
        ),
        scenario=f"{_SCENARIOS}::"
        "test_a_listener_that_refuses_fences_nobody_who_has_another_connection",
    ),
    Mutant(
        "a connection that comes back is not noticed",
        Edit(
            _LIVENESS,
            "            traces.own[connection] = None\n        traces.suspicion = None\n",
            "            traces.own[connection] = None\n",
        ),
        scenario=f"{_SCENARIOS}::test_a_listener_that_refuses_fences_nobody_who_comes_back",
    ),
    Mutant(
        "a new controller probes brokers that had no time to connect",
        Edit(_LIVENESS, "NEW_TERM_MS: Final = 300\n", "NEW_TERM_MS: Final = 0\n"),
        scenario=f"{_SCENARIOS}::test_a_new_controller_gives_brokers_time_to_connect",
    ),
    Mutant(
        "a new controller waits for the sessions of brokers that do not connect",
        Edit(_LIVENESS, "            if traces.is_silent:\n", "            if False:\n"),
        scenario=f"{_SCENARIOS}::"
        "test_a_broker_that_dies_with_the_controller_is_noticed_by_the_next",
    ),
    Mutant(
        "a broker is replaced while it is connected",
        Edit(
            _LIVENESS,
            "        is_connected = bool(traces.own) and traces.epoch == broker.epoch\n",
            "        is_connected = False\n",
        ),
        scenario=f"{_SCENARIOS}::test_nobody_takes_the_place_of_a_broker_that_lives",
    ),
    Mutant(
        "voters without a leader stand all at once",
        Edit("raft/elections.py", "TURN_MS: Final = 150\n", "TURN_MS: Final = 0\n"),
        scenario=f"{_SCENARIOS}::"
        "test_a_killed_controller_is_replaced_and_its_broker_fenced_within_a_second",
    ),
    Mutant(
        "a dead leader is named until it is fenced",
        Edit(
            "broker/handlers/topic_metadata.py",
            "        if gone:\n            _hide_leaders(topics, gone)\n",
            "",
        ),
        scenario=f"{_LOST}::"
        "test_a_killed_leader_is_not_named_to_clients_before_the_next_is_elected",
    ),
    Mutant(
        "a client that asks before the follower has noticed is sent back to a dead leader",
        Edit("broker/lost_leaders.py", "CLOSING_MS: Final = 5\n", "CLOSING_MS: Final = 0\n"),
        scenario=f"{_LOST}::test_a_client_that_asks_before_its_follower_notices_is_not_sent_back",
    ),
    Mutant(
        "a leader that hangs is not named",
        Edit(
            "broker/lost_leaders.py",
            "            if result is not ProbeResult.ACCEPTED:\n"
            "                loss.is_gone = result is ProbeResult.REFUSED\n"
            "                break\n",
            "            loss.is_gone = True\n",
        ),
        scenario=f"{_LOST}::test_a_leader_that_hangs_is_named",
    ),
    Mutant(
        "a follower that lost its way hides the leader for ever",
        Edit(
            "broker/lost_leaders.py",
            "is_late = self._clock.monotonic_ms() >= until_ms",
            "is_late = False",
        ),
        scenario=f"{_LOST}::"
        "test_a_leader_that_only_its_followers_cannot_reach_is_named_again_after_two_seconds",
    ),
)
