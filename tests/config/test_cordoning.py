"""The log directories in ``cordoned.log.dirs``."""

import pytest

from moldau.config.cordoning import cordoned
from moldau.config.definition import ConfigError

LOG_DIRS = ("/a", "/b", "/c")


@pytest.mark.parametrize(
    ("items", "found"), [([], ()), (["/c", "/a"], ("/c", "/a")), (["*"], LOG_DIRS)]
)
def test_directories_are_named_one_by_one_or_all_at_once(
    items: list[str], found: tuple[str, ...]
) -> None:
    assert cordoned(items, LOG_DIRS) == found


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        (["*", "/a"], r"\* must stand alone"),
        (["/a", "*"], r"\* must stand alone"),
        (["/a", "/d"], "/d.*must be one of the log.dirs /a, /b, /c"),
    ],
)
def test_what_names_no_directory_is_refused(items: list[str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        cordoned(items, LOG_DIRS)
