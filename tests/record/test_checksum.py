"""CRC-32C."""

import subprocess
import sys

from moldau.record.checksum import crc32c


def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283


def test_a_checksum_goes_on_where_another_ended() -> None:
    assert crc32c(memoryview(b"456789"), crc32c(b"123")) == crc32c(b"123456789")


def test_loading_it_takes_nothing_along_and_leaves_the_package_usable() -> None:
    program = (
        "import sys\n"
        "from moldau.record.checksum import crc32c as ours\n"
        "assert 'importlib.metadata' not in sys.modules\n"
        "import crc32c\n"
        "assert crc32c.crc32c is ours\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
