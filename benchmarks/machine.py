"""Describes the machine, and prepares it for measurements."""

import os
import platform
import subprocess
import tempfile
from pathlib import Path

from moldau.compiled import is_compiled

BLOCK = bytes(1 << 20)


def describe() -> dict[str, str]:
    """The facts about the machine that matter for the figures."""
    cpu = [line for line in _read("/proc/cpuinfo") if line.startswith("model name")]
    memory = [line for line in _read("/proc/meminfo") if line.startswith("MemTotal")]
    return {
        "cpu": cpu[0].split(":", 1)[1].strip() if cpu else platform.processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{int(memory[0].split()[1]) / 1e6:.0f} GB" if memory else "unknown",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "moldau": "compiled modules" if is_compiled() else "plain sources, which are slower",
        "java": _first_line("java", "-version"),
        "load before": f"{os.getloadavg()[0]:.2f}",
    }


def pretouch(gigabytes: float) -> None:
    """Touch memory once and free it.

    A virtual machine gets a page of memory from its host on the first access, which is several
    times slower than later ones; without this, the first broker to use it would be slower.
    """
    folder = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(int(gigabytes * 1000)):
            file.write(BLOCK)


def _read(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def _first_line(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return "none"
    return (done.stdout + done.stderr).splitlines()[0]
