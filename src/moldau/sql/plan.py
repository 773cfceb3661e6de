"""What a statement is and which relations it names, according to Spark's own parser.

Nothing here is resolved: the parser knows no tables. Its plan is walked node by node, through Py4J,
into subqueries and common table expressions, because those name relations too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from moldau.sql.errors import Span, SqlError
from moldau.sql.rewriting import from_java
from moldau.sql.statements import Kind, words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Nodes that keep the plan of a query in a field, not as a child.
_HOLDERS: Final = {"ExplainCommand": "logicalPlan", "DescribeQueryCommand": "plan"}
# Nodes between a relation and its alias.
_TRANSPARENT: Final = ("NamedStreamingRelation", "UnresolvedEventTimeWatermark")


@dataclass(frozen=True)
class AsOf:
    """A point in the past: a timestamp as SQL, or a version as it was written."""

    timestamp: str | None
    version: str | None
    span: Span


@dataclass(frozen=True)
class Relation:
    """A relation that a statement names.

    ``span`` is everything that stands for it, with STREAM, WITH (...) and AS OF, but without its
    alias. ``can_have_alias`` is False where SQL would not allow one after it.
    """

    parts: tuple[str, ...]
    span: Span
    name_span: Span
    is_stream: bool = False
    can_have_alias: bool = True
    options: dict[str, str] = field(default_factory=dict)
    as_of: AsOf | None = None

    @property
    def name(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class Parsed:
    """A statement as Spark's parser sees it. ``kind`` is the class of its plan's root."""

    text: str
    plan: Any
    kind: str
    # Without those that a common table expression in scope defines.
    relations: tuple[Relation, ...]

    @property
    def root(self) -> Any:
        """The plan below common table expressions."""
        return self.plan.child() if self.plan.nodeName() == "UnresolvedWith" else self.plan


def parse(spark: "SparkSession", text: str) -> Parsed:
    """Parse a statement.

    Raises:
        ParseException: of PySpark; it is not SQL.
    """
    session: Any = spark._jsparkSession
    plan = session.sessionState().sqlParser().parsePlan(text)
    kind = plan.nodeName()
    if kind == "UnresolvedWith":
        kind = plan.child().nodeName()
    walk = _Walk(text)
    # A relation on its own is TABLE t, where no alias can follow.
    relations = tuple(walk.relations(plan, frozenset(), is_aliased=kind == "UnresolvedRelation"))
    return Parsed(text, plan, kind, relations)


def named_relation(node: Any, text: str) -> Relation:
    """The relation of a node such as UnresolvedTableOrView, UnresolvedRelation or -Identifier."""
    span = span_of(node, text)
    is_new = node.nodeName() == "UnresolvedIdentifier"
    names = node.nameParts() if is_new else node.multipartIdentifier()
    return Relation(tuple(names.apply(i) for i in range(names.size())), span, span)


def span_of(node: Any, text: str) -> Span:
    """Where a node is in the statement."""
    origin = node.origin()
    if not origin.startIndex().isDefined():
        return Span(0, len(text))
    return from_java(text, origin.startIndex().get(), origin.stopIndex().get())


class _Walk:
    def __init__(self, text: str) -> None:
        self._text = text
        self._words = words(text)

    def relations(
        self, node: Any, defined: frozenset[str], *, is_aliased: bool = False
    ) -> Iterator[Relation]:
        name = node.nodeName()
        if name == "UnresolvedRelation":
            relation = self._relation(node, is_aliased)
            is_ours = len(relation.parts) == 1 and relation.parts[0].lower() in defined
            if not is_ours:
                yield relation
            return
        if name == "RelationTimeTravel":
            yield self._time_travel(node, is_aliased)
            return
        if name == "UnresolvedWith":
            for alias, plan in _definitions(node):
                # A definition sees the ones before it; a recursive one also itself.
                seen = defined | {alias} if node.allowRecursion() else defined
                yield from self.relations(plan, seen)
                defined |= {alias}
        elif name in _HOLDERS:
            yield from self.relations(getattr(node, _HOLDERS[name])(), defined)
        else:
            inner = node.innerChildren()
            for i in range(inner.size()):
                plan = inner.apply(i)
                if _is_plan(plan):
                    yield from self.relations(plan, defined)
        children = node.children()
        is_alias = name in ("SubqueryAlias", "Sample") or (is_aliased and name in _TRANSPARENT)
        for i in range(children.size()):
            yield from self.relations(children.apply(i), defined, is_aliased=is_alias)

    def _relation(self, node: Any, is_aliased: bool) -> Relation:
        parts = node.multipartIdentifier()
        options = node.options().asCaseSensitiveMap()
        span = span_of(node, self._text)
        relation = Relation(
            tuple(parts.apply(i) for i in range(parts.size())),
            span,
            span,
            bool(node.isStreaming()),
            not is_aliased,
            _as_dict(options),
        )
        if relation.is_stream:
            return self._without_alias(relation)
        if relation.options:
            return replace(relation, span=Span(span.start, self._clause_end(span.end)))
        return relation

    def _without_alias(self, relation: Relation) -> Relation:
        """Spark's position of a stream includes its alias: cut it off behind the name."""
        inside = [each for each in self._words if relation.span.start <= each.start]
        # STREAM t, or STREAM(t)
        has_brackets = inside[1].text == "("
        first = 2 if has_brackets else 1
        last = first
        while inside[last + 1 : last + 2] and inside[last + 1].text == ".":
            last += 2
        name_span = Span(inside[first].start, inside[last].span.end)
        end = inside[last + 1].span.end if has_brackets else name_span.end
        if relation.options:
            end = self._clause_end(end)
        return replace(relation, span=Span(relation.span.start, end), name_span=name_span)

    def _clause_end(self, position: int) -> int:
        """The end of the WITH (...) that follows ``position``."""
        depth = 0
        for each in self._words:
            if each.start < position or each.kind is not Kind.SYMBOL:
                continue
            depth += {"(": 1, ")": -1}.get(each.text, 0)
            if each.text == ")" and depth == 0:
                return each.span.end
        return position

    def _time_travel(self, node: Any, is_aliased: bool) -> Relation:
        relation = self._relation(node.relation(), is_aliased)
        clause = span_of(node, self._text)
        moment, version = node.timestamp(), node.version()
        as_of = AsOf(
            moment.get().sql() if moment.isDefined() else None,
            version.get() if version.isDefined() else None,
            clause,
        )
        if relation.is_stream:
            raise SqlError(
                "a stream has no AS OF",
                "leave out STREAM to read the past, or AS OF to read on",
                clause,
            )
        return replace(
            relation,
            span=Span(relation.span.start, max(clause.end, relation.span.end)),
            as_of=as_of,
        )


def _as_dict(options: Any) -> dict[str, str]:
    # To Python the end of an iterator in Java is an exception, and PySpark asks Java some 60
    # questions about each of those. Most relations have no options.
    if options.isEmpty():
        return {}
    return {str(each): str(options.get(each)) for each in options}


def _definitions(node: Any) -> Iterator[tuple[str, Any]]:
    relations = node.cteRelations()
    for i in range(relations.size()):
        definition = relations.apply(i)
        yield str(definition.productElement(0)).lower(), definition.productElement(1)


def _is_plan(node: Any) -> bool:
    """Whether an inner child is a plan: some nodes have expressions there."""
    return "LogicalPlan" in _ancestors(node)


def _ancestors(node: Any) -> set[str]:
    found = set()
    kind = node.getClass()
    while kind is not None:
        found.add(kind.getSimpleName())
        kind = kind.getSuperclass()
    return found
