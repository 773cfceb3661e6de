"""setuptools as the build backend, with the compilers only for builds that compile.

An editable install compiles nothing, so it does not download mypyc and Cython.
Their versions are in pyproject.toml, once, as the dependency group ``compile``.
"""

import tomllib
from pathlib import Path

from setuptools import build_meta
from setuptools.build_meta import *  # noqa: F403


def get_requires_for_build_wheel(config_settings: dict[str, str] | None = None) -> list[str]:
    return [*build_meta.get_requires_for_build_wheel(config_settings), *compilers()]


def compilers() -> list[str]:
    with Path("pyproject.toml").open("rb") as file:
        found: list[str] = tomllib.load(file)["dependency-groups"]["compile"]
    return found
