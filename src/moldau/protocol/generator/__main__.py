"""``python -m moldau.protocol.generator [--check]``: write the modules, or compare them."""

import sys
from pathlib import Path

from moldau.protocol.generator.module import api_table, module
from moldau.protocol.generator.schema import load

PROTOCOL = Path(__file__).resolve().parent.parent


def generate() -> dict[str, str]:
    """The text of every generated file, by its path below ``protocol/``."""
    files = load(PROTOCOL / "schema")
    texts = {"api_table.py": api_table(files)}
    for file in files:
        if file.api is not None:
            texts[f"messages/{file.name}.py"] = module(file)
        else:
            texts[f"records/{file.name.removesuffix('_records')}.py"] = module(file)
    texts["messages/__init__.py"] = '"""Requests and responses, one module per API."""\n'
    texts["records/__init__.py"] = '"""Record bodies, one module per log."""\n'
    return texts


def stale(texts: dict[str, str]) -> list[str]:
    """The files that differ from ``texts`` or should not exist."""
    present = {
        path.relative_to(PROTOCOL).as_posix()
        for folder in ("messages", "records")
        for path in (PROTOCOL / folder).glob("*.py")
    }
    differing = [
        name
        for name, text in texts.items()
        if not (PROTOCOL / name).exists() or (PROTOCOL / name).read_text() != text
    ]
    return sorted({*differing, *(present - texts.keys())})


def main(arguments: list[str]) -> int:
    texts = generate()
    names = stale(texts)
    if "--check" in arguments:
        for name in names:
            print(f"{name} is out of date: run python -m moldau.protocol.generator")
        return 1 if names else 0
    for name in names:
        path = PROTOCOL / name
        if name in texts:
            path.parent.mkdir(exist_ok=True)
            path.write_text(texts[name])
        else:
            path.unlink()
    print(f"{len(names)} of {len(texts)} files written")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
