"""The commands of docs/operations.md, run in order on three machines that become four."""

from pathlib import Path

from tests.cli.pages import DOCS, Machines, PageCommand, page_commands, page_properties

PAGE = (DOCS / "operations.md").read_text()
PROPERTIES = "/etc/moldau/server.properties"
NAMES = ("kafka-1", "kafka-2", "kafka-3", "kafka-4")
IDS = ("CLUSTER_ID", "DIRECTORY_1", "DIRECTORY_2", "DIRECTORY_3")
# Commands in sentences and tables.
IN_THE_TEXT = (
    "moldau partitions elect-leaders payments --unclean",
    "moldau partitions reassign --cancel --execute",
    "moldau quorum describe",
)


def test_the_commands_of_the_page_run(tmp_path: Path) -> None:
    first, added, _ = page_properties(PAGE)
    commands = page_commands(PAGE)
    assert len(commands) >= 45
    assert sum(each.shown is not None for each in commands) == 6
    with Machines(tmp_path / "machines", NAMES) as machines:
        machines.make_ids(IDS)
        for number, name in enumerate(NAMES[:3], start=1):
            own = first.replace("node.id=1", f"node.id={number}").replace("//kafka-1", f"//{name}")
            machines.write(name, PROPERTIES, own)
        machines.write("kafka-4", PROPERTIES, added)
        for command in commands:
            machines.run(command)
        for text in IN_THE_TEXT:
            assert f"`{text}`" in PAGE
            machines.run(PageCommand(text))
