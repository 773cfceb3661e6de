"""Links between the documents lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, by the rule that code hosts use."""
    text = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_a_link_leads_to_something_in_the_project(path: Path) -> None:
    for link in LINK.findall(path.read_text()):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        assert target.exists(), f"{name(path)}: {link}"
        assert not anchor or anchor in anchors(target), f"{name(path)}: {link}"


def test_the_index_of_the_documents_names_every_one() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    for path in (ROOT / "docs").rglob("*.md"):
        relative = str(path.relative_to(ROOT / "docs"))
        assert relative == "README.md" or f"({relative})" in index, f"docs/{relative}"
