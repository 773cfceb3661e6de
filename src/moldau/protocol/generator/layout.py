"""The wire layout of a field in each version, split into version ranges of equal layout.

Generated code tests the version as rarely as possible: the versions of a field are split where
its layout changes, and adjacent fields that are split at the same versions share their branches.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from moldau.protocol.generator.schema import FIXED_SIZES, Field, Message, Struct, Versions


@dataclass(frozen=True)
class Layout:
    """How a present field is encoded: classic or compact lengths, nullable or not."""

    compact: bool
    nullable: bool


@dataclass
class Scope:
    """A struct with the versions in which it occurs."""

    struct: Struct
    versions: Versions
    first_flexible: int
    message: Message

    def is_flexible(self, version: int) -> bool:
        return 0 <= self.first_flexible <= version

    def layout(self, field: Field, version: int) -> Layout | None:
        """None if the field is not in the body: it is absent, or a tagged field."""
        if version not in field.versions or field.tag is not None:
            return None
        nullable = field.nullable is not None and version in field.nullable
        variable = field.is_array or field.type not in FIXED_SIZES
        # The bytes of a struct do not depend on the flag; only its null marker does.
        compact = variable and self.is_flexible(version) and (field.is_array or not field.is_struct)
        return Layout(compact, nullable)

    def cuts(self, field: Field) -> tuple[int, ...]:
        """The versions at which the field's layout changes, newest first, then the oldest."""
        lowest, highest = self.versions.lowest, self.versions.highest
        changes = (
            version
            for version in range(highest, lowest, -1)
            if self.layout(field, version) != self.layout(field, version - 1)
        )
        return (*changes, lowest)

    def piece(self, cuts: Sequence[int], index: int) -> Versions:
        """The versions of the ``index``-th of the pieces between ``cuts``."""
        highest = self.versions.highest if index == 0 else cuts[index - 1] - 1
        return Versions(cuts[index], highest)

    def tag_section_start(self) -> int | None:
        """The first version with a section of tagged fields; None if there is none."""
        if self.first_flexible < 0 or self.first_flexible > self.versions.highest:
            return None
        return max(self.first_flexible, self.versions.lowest)

    def smallest(self, versions: Versions) -> int:
        """The fewest bytes that the struct takes in any of ``versions``."""
        return min(self._size(version) for version in versions)

    def _size(self, version: int) -> int:
        size = 1 if self.is_flexible(version) else 0
        for field in self.struct.fields:
            layout = self.layout(field, version)
            if layout is not None:
                size += self._field_size(field, layout, version)
        return size

    def _field_size(self, field: Field, layout: Layout, version: int) -> int:
        if layout.compact:
            return 1
        if field.is_array:
            return 4
        if field.is_struct:
            return 1 if layout.nullable else self._inner_size(field, version)
        return FIXED_SIZES.get(field.type) or (2 if field.type == "string" else 4)

    def _inner_size(self, field: Field, version: int) -> int:
        assert field.struct is not None
        one = Versions(version, version)
        return Scope(field.struct, one, self.first_flexible, self.message).smallest(one)

    def smallest_element(self, field: Field, versions: Versions) -> int:
        """The fewest bytes of one element of an array field."""
        if field.struct is not None:
            return min(self._inner_size(field, version) for version in versions)
        if field.type == "string":
            return min(1 if self.is_flexible(version) else 2 for version in versions)
        return FIXED_SIZES[field.type]


def scopes_of(messages: Sequence[Message], structs: Sequence[Struct]) -> dict[str, Scope]:
    """The scope of every struct of a file, and of every message, by name."""
    scopes: dict[str, Scope] = {}

    def visit(struct: Struct, versions: Versions, message: Message) -> None:
        known = scopes.get(struct.name)
        if known is not None:
            if known.first_flexible != message.first_flexible:
                raise ValueError(f"{struct.name} is flexible from different versions on")
            versions = Versions(
                min(versions.lowest, known.versions.lowest),
                max(versions.highest, known.versions.highest),
            )
        scopes[struct.name] = Scope(struct, versions, message.first_flexible, message)
        for field in struct.fields:
            if field.struct is not None:
                lowest = max(field.versions.lowest, versions.lowest)
                highest = min(field.versions.highest, versions.highest)
                visit(field.struct, Versions(lowest, highest), message)

    for message in messages:
        visit(message.fields, message.versions, message)
    return scopes
