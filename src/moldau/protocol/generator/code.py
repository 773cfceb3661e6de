"""Version-dependent pieces of code, and how they are rendered as lines.

An ``Op`` reads or writes one field in one layout. The ops of adjacent fields that branch at the
same versions are joined under one ``if``; inside a branch, consecutive fixed-size reads share one
increment of the position.
"""

from collections.abc import Sequence
from dataclasses import dataclass

# At the end of a loop over the elements of an array, whose number is ``nth``: see giving_way.
GIVE_WAY = ("if nth & LONG_RUN == LONG_RUN:", "    give_way()")


@dataclass(frozen=True)
class Op:
    """Lines of code. In a fixed-size read, ``{at}`` stands for its position."""

    lines: tuple[str, ...]
    fixed_size: int = 0


def line(*lines: str) -> Op:
    return Op(lines)


@dataclass
class Branches:
    """The same step in different versions: the ops from each of ``cuts`` on, newest first."""

    cuts: tuple[int, ...]
    ops: list[list[Op]]


def indent(lines: Sequence[str]) -> list[str]:
    return ["    " + text for text in lines]


def render(ops: Sequence[Op]) -> list[str]:
    """Render ops as lines, combining increments of the position."""
    out: list[str] = []
    offset = 0
    for op in ops:
        if op.fixed_size:
            at = f"position + {offset}" if offset else "position"
            out.extend(text.replace("{at}", at) for text in op.lines)
            offset += op.fixed_size
            continue
        if offset and any("position" in text for text in op.lines):
            out.append(f"position += {offset}")
            offset = 0
        out.extend(op.lines)
    if offset:
        out.append(f"position += {offset}")
    return out


def join(steps: Sequence[Branches]) -> list[Branches]:
    """Merge adjacent steps that branch at the same versions."""
    joined: list[Branches] = []
    for step in steps:
        if joined and joined[-1].cuts == step.cuts:
            for ops, more in zip(joined[-1].ops, step.ops, strict=True):
                ops.extend(more)
        else:
            joined.append(Branches(step.cuts, [list(ops) for ops in step.ops]))
    return joined


def render_branches(step: Branches) -> list[str]:
    bodies = [render(ops) for ops in step.ops]
    if len(bodies) == 1:
        return bodies[0]
    if not any(bodies):
        return []
    if len(bodies) == 2 and not bodies[0]:
        return [f"if version < {step.cuts[0]}:", *indent(bodies[1])]
    out: list[str] = []
    while len(bodies) > 1 and not bodies[-1]:
        bodies.pop()
    for index, body in enumerate(bodies):
        if index == 0:
            head = f"if version >= {step.cuts[0]}:"
        elif index < len(step.cuts) - 1:
            head = f"elif version >= {step.cuts[index]}:"
        else:
            head = "else:"
        out.append(head)
        out.extend(indent(body or ["pass"]))
    return out


def render_all(steps: Sequence[Branches]) -> list[str]:
    return [text for step in join(steps) for text in render_branches(step)]
