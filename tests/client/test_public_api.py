"""The public names of the package, and the examples of docs/api.md."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import moldau
import moldau.client
from moldau.client import admin, producer

API_PAGE = Path(__file__).parents[2] / "docs" / "api.md"


@pytest.mark.parametrize("name", moldau.__all__)
def test_a_name_of_the_package_is_that_of_the_client(name: str) -> None:
    if name != "__version__":
        assert getattr(moldau, name) is getattr(moldau.client, name)


@pytest.mark.parametrize("name", moldau.client.__all__)
def test_a_public_name_of_the_client_can_be_imported(name: str) -> None:
    namespace: dict[str, object] = {}
    exec(f"from moldau.client import {name}", namespace)
    assert namespace[name] is getattr(moldau.client, name)


def test_public_names_are_the_classes_themselves() -> None:
    assert moldau.Admin is moldau.client.Admin is admin.Admin
    assert moldau.Producer is moldau.client.Producer is producer.Producer


def test_the_names_for_type_checkers_are_the_names_at_run_time() -> None:
    for module in (moldau, moldau.client):
        assert module.__file__ is not None
        source = Path(module.__file__).read_text()
        typed = source.split("if TYPE_CHECKING:")[1].split("\nelse:")[0]
        imported = re.findall(r"\w+", re.sub(r"from \S+ import", "", typed))
        assert sorted(imported) == sorted(set(module.__all__) - {"__version__"})


@pytest.mark.parametrize("module", [moldau, moldau.client], ids=lambda module: module.__name__)
def test_a_name_that_is_not_public_is_an_attribute_error(module: object) -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        module.Nonsense  # type: ignore[attr-defined]  # noqa: B018
    assert set(module.__all__) <= set(dir(module))  # type: ignore[attr-defined]


def test_importing_the_package_loads_only_its_version_and_the_choice_of_modules() -> None:
    program = (
        "import sys, moldau.client;"
        "print(sorted(name for name in sys.modules if name.startswith('moldau')))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == (
        "['moldau', 'moldau.client', 'moldau.compiled', 'moldau.version']"
    )


def test_the_examples_of_the_api_page_run(
    bootstrap: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """All in one namespace, in order, as a reader would try them."""
    page = API_PAGE.read_text()
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) >= 8
    namespace: dict[str, object] = {}
    for number, example in enumerate(examples):
        code = example.replace("localhost:9092", bootstrap)
        exec(compile(code, f"{API_PAGE.name}, example {number + 1}", "exec"), namespace)
    printed = capsys.readouterr().out
    assert "b'12.50'" in printed, "the record that was produced"
    assert "accounting Empty" in printed, "the group after its member has left"
    assert "retention.ms 3600000 TOPIC_CONFIG" in printed
    assert "already exists" in printed
