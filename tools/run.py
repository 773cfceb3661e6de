"""``make run``: starts a broker immediately, and compiles the hot modules for its next start.

    python -m tools.run [arguments of moldau start]

If the hot modules are compiled, this is just ``moldau start``. If not, the broker runs on the plain
sources, and the compiler runs in parallel with the lowest priority. It is stopped with the broker.
Python's bytecode is compiled before anything else, because the first request about groups imports
modules.
With ``MOLDAU_REQUIRE_COMPILED=1`` the broker waits for the compiler.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread
from types import FrameType

from moldau.compiled import is_set
from tools import compile_modules
from tools.compile_modules import ROOT, has_compiler, is_compiled, say

BYTECODE = "from tools.compile_modules import compile_bytecode; compile_bytecode()"

LOG = ROOT / "build" / "compile.log"
BROKER = (str(Path(sys.executable).with_name("moldau")), "start")


def main(arguments: list[str]) -> int:
    command = [*BROKER, *arguments]
    if is_set(os.environ, "MOLDAU_REQUIRE_COMPILED") and compile_modules.main() != 0:
        return 1
    if is_compiled():
        os.execv(command[0], command)
    if is_set(os.environ, "MOLDAU_PLAIN") or not has_compiler():
        compile_bytecode_beside()
        os.execv(command[0], command)
    return run_both(command)


def compile_bytecode_beside() -> None:
    """Start to compile bytecode, in a process that is nobody's child: nobody will wait for it."""
    beside = 'nice -n 19 "$0" -c "$1" > /dev/null 2>&1 &'
    subprocess.run(["sh", "-c", beside, sys.executable, BYTECODE], cwd=ROOT, check=True)


def run_both(command: list[str]) -> int:
    """Run the broker and the compiler until the broker ends; returns its exit status."""
    say("starting on plain Python; the hot modules are compiled beside it, for the next start")
    say(f"the compiler's log is {LOG.relative_to(ROOT)}")
    with subprocess.Popen(command) as broker:

        def pass_on(number: int, frame: FrameType | None) -> None:
            broker.send_signal(number)

        signal.signal(signal.SIGTERM, pass_on)
        signal.signal(signal.SIGHUP, pass_on)
        # Ctrl-C in a terminal reaches the broker too.
        signal.signal(signal.SIGINT, lambda number, frame: None)
        compiler = start_compiler()
        Thread(target=report, args=(compiler,), daemon=True).start()
        code = broker.wait()
    if compiler.poll() is None:
        os.killpg(compiler.pid, signal.SIGTERM)
        compiler.wait()
    return code if code >= 0 else 128 - code


def start_compiler() -> subprocess.Popen[bytes]:
    """Start the compiler, in a process group that can be killed as a whole."""
    LOG.parent.mkdir(exist_ok=True)
    with LOG.open("wb") as log:
        return subprocess.Popen(
            ["nice", "-n", "19", sys.executable, "-m", "tools.compile_modules"],
            cwd=ROOT,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def report(compiler: subprocess.Popen[bytes]) -> None:
    """Print the result of the compiler, unless it was stopped with the broker."""
    if compiler.wait() >= 0:
        lines = LOG.read_text(errors="replace").splitlines()
        print(lines[-1] if lines else "", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
