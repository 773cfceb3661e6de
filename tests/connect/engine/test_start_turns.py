"""A few queries start at a time; none waits for ever."""

import threading

from moldau.connect.engine.start_turns import StartTurns, await_start


def test_as_many_as_there_are_turns_start_at_a_time() -> None:
    turns = StartTurns(2)
    never = threading.Event()
    lock = threading.Lock()
    inside = 0
    most = 0

    def start() -> None:
        nonlocal inside, most
        with turns.turn(never) as has_turn:
            assert has_turn
            with lock:
                inside += 1
                most = max(most, inside)
                if most == 2:
                    met.set()
            # The first one waits for a second, and both give a third the time to come.
            assert met.wait(60)
            never.wait(0.2)
            with lock:
                inside -= 1

    met = threading.Event()
    threads = [threading.Thread(target=start) for _ in range(5)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most == 2


def test_a_turn_ends_with_its_block_even_if_that_fails() -> None:
    turns = StartTurns(1)
    never = threading.Event()
    for _ in range(2):
        try:
            with turns.turn(never) as has_turn:
                assert has_turn
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass


def test_a_connector_that_is_stopped_gives_up_its_place_in_the_queue() -> None:
    turns = StartTurns(1)
    stopping = threading.Event()
    stopping.set()
    with turns.turn(threading.Event()) as first, turns.turn(stopping) as second:
        assert (first, second) == (True, False)
    with turns.turn(stopping) as third:
        assert third


def test_the_start_of_a_query_is_awaited_until_it_has_started() -> None:
    answers = iter([False, False, True])
    await_start(lambda: next(answers), threading.Event())
    assert next(answers, None) is None


def test_a_query_that_never_starts_is_awaited_for_a_limited_time() -> None:
    looks: list[None] = []
    await_start(lambda: bool(looks.append(None)), threading.Event(), limit_s=0.3)
    assert len(looks) == 3


def test_the_start_of_a_query_that_is_stopped_is_not_awaited() -> None:
    stopping = threading.Event()
    stopping.set()
    await_start(lambda: False, stopping, limit_s=1e6)
