"""The live table of ``moldau cluster start`` and its keys, in a pseudo-terminal."""

import os
import signal
from pathlib import Path

from moldau.cli.main import main
from moldau.cli.terminal_keys import DOWN, UP, parse_keys
from tests.cli.clusters import is_alive, wait_until_gone
from tests.cli.terminals import Terminal

START = ("cluster", "start", "--brokers", "1", "--listen", "127.0.0.1:0", "--data-dir")
FIRST = r"> +1  running +active +(\d+)"


def test_keys_kill_pause_restart_and_add_brokers(tmp_path: Path) -> None:
    with Terminal(*START, str(tmp_path)) as terminal:
        terminal.expect(r"moldau cluster: --bootstrap-server 127\.0\.0\.1:\d+")
        header = r"NODE +STATE +CONTROLLER +PID +PORT +LEADERS +UNDER-REPL +RSS +CPU +ROLES"
        terminal.expect(header)
        first = int(terminal.expect(FIRST)[1])
        terminal.expect(r"\d+ MB +\d+% +broker,controller")
        terminal.expect("keys: ")

        terminal.press("p")
        terminal.expect(r"> +1  paused")
        terminal.expect(r"paused node 1 \(SIGSTOP\)")
        terminal.press("p")
        terminal.expect(FIRST)

        terminal.press("k")
        terminal.expect(r"> +1  killed +- +- ")
        terminal.expect(r"killed node 1 \(SIGKILL\); r starts it again")
        assert not is_alive(first)
        terminal.press("r")
        second = int(terminal.expect(FIRST)[1])
        assert second != first

        terminal.press("a")
        terminal.expect(r"  +2  running +- +\d+")
        terminal.press("2")
        third = int(terminal.expect(r"> +2  running +- +(\d+)")[1])

        terminal.press("q")
        terminal.expect("stopping")
        terminal.expect("stopped")
        assert terminal.process.wait(120) == 0
        assert terminal.settings == terminal.settings_before
        assert not is_alive(second)
        assert not is_alive(third)


def test_a_closed_terminal_stops_the_nodes(tmp_path: Path) -> None:
    with Terminal(*START, str(tmp_path)) as terminal:
        pid = int(terminal.expect(FIRST)[1])
        os.kill(terminal.process.pid, signal.SIGHUP)
        assert terminal.process.wait(120) == 0
        wait_until_gone([pid])
    assert (tmp_path / "node-1" / "data" / ".kafka_cleanshutdown").exists()


def test_ctrl_c_stops_the_nodes_in_order(tmp_path: Path) -> None:
    with Terminal(*START, str(tmp_path)) as terminal:
        pid = int(terminal.expect(FIRST)[1])
        terminal.press("\x03")
        terminal.expect("stopped")
        assert terminal.process.wait(120) == 0
    assert not is_alive(pid)
    assert (tmp_path / "node-1" / "data" / ".kafka_cleanshutdown").exists()


def test_a_job_in_the_background_prints_one_line_and_leaves_the_terminal_alone(
    tmp_path: Path,
) -> None:
    with Terminal(*START, str(tmp_path), is_in_background=True) as terminal:
        terminal.expect(r"Moldau is ready on 127\.0\.0\.1:\d+: 1 broker in ")
        assert terminal.settings == terminal.settings_before
        assert main(["cluster", "stop", "--data-dir", str(tmp_path)]) == 0
        assert terminal.process.wait(120) == 0


def test_arrows_are_keys_and_other_sequences_are_ignored() -> None:
    assert parse_keys("k\x1b[A2\x1bOB\x1b[15~q") == ["k", UP, "2", DOWN, "q"]
    assert parse_keys("\x1b") == []
