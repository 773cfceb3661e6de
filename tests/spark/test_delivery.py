"""Exactly-once writes refuse ``spark.speculation``."""

import pytest

from moldau.spark.delivery import refuse_speculation
from moldau.spark.errors import PipelineError


@pytest.mark.parametrize("setting", ["true", "TRUE", " True "])
def test_speculation_is_refused_however_it_is_written(setting: str) -> None:
    with pytest.raises(PipelineError, match=r"spark\.speculation=.* runs tasks twice, .* to false"):
        refuse_speculation(setting)


@pytest.mark.parametrize("setting", [None, "", "false", "False"])
def test_without_speculation_nothing_is_refused(setting: str | None) -> None:
    refuse_speculation(setting)
