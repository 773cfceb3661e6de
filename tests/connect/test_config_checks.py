"""A connector that blocks in its own checks: its request ends, and others are answered."""

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from moldau.connect.config_checks import ConfigChecks
from moldau.connect.providers import Providers
from moldau.connect.rest_errors import BadRequestError, InternalError
from tests.connect.herding import valid

PATIENCE_S = 60.0


class Validating:
    """A ``validate`` that blocks, or raises, for the classes of these names."""

    def __init__(self) -> None:
        self.has_begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, class_name: str, config: Mapping[str, str]) -> dict[str, Any]:
        if class_name == "Blocking":
            self.has_begun.set()
            assert self.may_end.wait(PATIENCE_S)
        if class_name == "Late":
            raise TimeoutError("the database does not answer")
        return valid(class_name, config)


@pytest.fixture
def validating() -> Iterator[Validating]:
    made = Validating()
    yield made
    made.may_end.set()


def checks(validating: Validating, timeout_s: float) -> ConfigChecks:
    return ConfigChecks(validating, Providers.from_settings({}), None, timeout_s)


def test_a_validation_that_blocks_is_answered_with_500(validating: Validating) -> None:
    with pytest.raises(InternalError) as given_up:
        checks(validating, 0.01).validate("Blocking", {})
    assert given_up.value.status == 500
    assert given_up.value.message.startswith("Request timed out: Blocking has been validating")
    with pytest.raises(InternalError):
        checks(validating, 0.01).require_valid({"connector.class": "Blocking"})


def test_others_are_validated_while_one_blocks(validating: Validating) -> None:
    shared = checks(validating, PATIENCE_S)
    answers: list[dict[str, Any]] = []
    blocked = threading.Thread(target=lambda: answers.append(shared.validate("Blocking", {})))
    blocked.start()
    assert validating.has_begun.wait(PATIENCE_S)
    assert shared.validate("Other", {})["error_count"] == 0
    with pytest.raises(BadRequestError, match="wrong is wrong"):
        shared.require_valid({"connector.class": "Other", "wrong": "very"})
    assert answers == []
    validating.may_end.set()
    blocked.join(PATIENCE_S)
    assert [each["name"] for each in answers] == ["Blocking"]


def test_a_timeout_that_the_connector_raises_is_its_own(validating: Validating) -> None:
    with pytest.raises(TimeoutError, match="the database does not answer"):
        checks(validating, PATIENCE_S).validate("Late", {})
