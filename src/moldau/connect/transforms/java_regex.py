"""Regular expressions as Java writes them, run by Python's ``re``.

The two dialects agree on nearly everything a topic name needs. Where they differ the pattern is
rewritten with the same meaning: named groups, ``\\Q...\\E``, flags in the middle, classes inside
classes and their intersection, ``\\p{...}`` of ASCII, possessive quantifiers (Python has them since
3.11).

What cannot be rewritten is refused by name, never approximated. One limit is deliberate: ``\\p{L}``
and its like mean the ASCII letters here, because topic names have no others.
"""

import re

__all__ = ["JavaRegexError", "compile_pattern"]

_POSIX = {
    "Lower": "a-z",
    "Upper": "A-Z",
    "ASCII": r"\x00-\x7f",
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Punct": r"!-/:-@\[-`{-~",
    "Graph": "!-~",
    "Print": " -~",
    "Blank": r"\ \t",
    "Cntrl": r"\x00-\x1f\x7f",
    "XDigit": "0-9a-fA-F",
    "Space": r"\ \t\n\x0b\f\r",
    "L": "a-zA-Z",
    "Lu": "A-Z",
    "Ll": "a-z",
    "N": "0-9",
    "Nd": "0-9",
    "IsAlphabetic": "a-zA-Z",
    "IsLetter": "a-zA-Z",
    "IsDigit": "0-9",
    "IsLatin": "a-zA-Z",
    "IsUppercase": "A-Z",
    "IsLowercase": "a-z",
    "javaLowerCase": "a-z",
    "javaUpperCase": "A-Z",
}
_HORIZONTAL = r"\ \t\xa0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_VERTICAL = r"\n\x0b\f\r\x85\u2028\u2029"
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b"}
_REPETITION = re.compile(r"\{(\d+)(,(\d*))?\}")
# Flags with the same letter and meaning in Python. "d" (only \n ends a line) and "u" (Unicode case)
# change nothing for topic names.
_SAME_FLAGS = {"i", "m", "s"}
_IDLE_FLAGS = {"d", "u"}


class JavaRegexError(ValueError):
    """The pattern is not one of Java's, or uses a construct that has no equal in Python."""


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """``pattern`` in Java's syntax as a compiled pattern of Python with the same meaning."""
    translated = _Translator(pattern).translate()
    try:
        return re.compile(translated, re.ASCII)
    except (re.error, OverflowError) as error:
        raise JavaRegexError(f"{error} in {pattern}") from error


class _Translator:
    """One pass over a Java pattern, which writes Python's."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.position = 0
        self.groups = 0
        # Flags set in the middle of a group, as "(?i)", hold until the group ends: each level keeps
        # the openings of the scoped groups that say so in Python.
        self.scopes: list[list[str]] = [[]]

    def translate(self) -> str:
        out: list[str] = []
        while self.position < len(self.pattern):
            out.append(self._next())
        if len(self.scopes) != 1:
            raise JavaRegexError(f"a ( is not closed in {self.pattern}")
        out.append(")" * len(self.scopes[0]))
        return "".join(out)

    def _next(self) -> str:
        char = self.pattern[self.position]
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._class()
        if char == "(":
            return self._open()
        self.position += 1
        if char == ")":
            if len(self.scopes) == 1:
                raise self._error("a ) closes nothing")
            return ")" * (len(self.scopes.pop()) + 1)
        if char == "|":
            return ")" * len(self.scopes[-1]) + "|" + "".join(self.scopes[-1])
        if char == "{":
            return self._repetition()
        if char == "}":
            return r"\}"
        return self._anchor(char) if char in "^$" else char

    def _anchor(self, anchor: str) -> str:
        # Java lets a quantifier follow an anchor, Python only a group.
        is_quantified = self.pattern[self.position : self.position + 1] in ("*", "+", "?", "{")
        return f"(?:{anchor})" if is_quantified else anchor

    def _repetition(self) -> str:
        found = _REPETITION.match(self.pattern, self.position - 1)
        if found is None:
            raise self._error("a { begins no repetition such as {2,3}")
        self.position = found.end()
        return found[0]

    def _open(self) -> str:
        rest = self.pattern[self.position :]
        named = re.match(r"\(\?<([a-zA-Z][a-zA-Z0-9]*)>", rest)
        if named:
            self.position += named.end()
            self.groups += 1
            self.scopes.append([])
            return f"(?P<{named[1]}>"
        for opening in ("(?:", "(?=", "(?!", "(?<=", "(?<!", "(?>"):
            if rest.startswith(opening):
                self.position += len(opening)
                self.scopes.append([])
                return opening
        if rest.startswith("(?"):
            return self._flags(rest)
        self.position += 1
        self.groups += 1
        self.scopes.append([])
        return "("

    def _flags(self, rest: str) -> str:
        found = re.match(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])", rest)
        if found is None:
            raise self._error("(? begins nothing known")
        known = _SAME_FLAGS | _IDLE_FLAGS
        for flag in found[1] + (found[2] or ""):
            if flag not in known:
                raise self._error(f"the flag {flag} is not supported")
        # A flag that is both on and off is off in Java; Python refuses it.
        off = "".join(sorted(set(found[2] or "") & _SAME_FLAGS))
        on = "".join(sorted((set(found[1]) & _SAME_FLAGS) - set(off)))
        opening = f"(?{on}{'-' + off if off else ''}:"
        self.position += found.end()
        if found[3] == ":":
            self.scopes.append([])
        else:
            self.scopes[-1].append(opening)
        return opening

    def _escape(self) -> str:
        char = self._peek_escape()
        if char == "Q":
            return self._quoted()
        if char == "k":
            return self._named_reference()
        if char in "123456789":
            return self._reference()
        anchors = {"b": r"\b", "B": r"\B", "A": r"\A", "z": r"\Z", "Z": r"(?=(?:\r\n|[\n\r])?\Z)"}
        if char in anchors:
            if self.pattern.startswith("\\b{g}", self.position):
                raise self._error("\\b{g} is not supported")
            self.position += 2
            return self._anchor(anchors[char])
        if char == "R":
            self.position += 2
            return rf"(?:\r\n|[{_VERTICAL}])"
        if char in "GXE":
            raise self._error(f"\\{char} is not supported")
        members = self._class_escape()
        if members is not None:
            return members
        return re.escape(self._literal_escape())

    def _peek_escape(self) -> str:
        if self.position + 1 >= len(self.pattern):
            raise self._error("the pattern ends with a backslash")
        return self.pattern[self.position + 1]

    def _quoted(self) -> str:
        end = self.pattern.find("\\E", self.position)
        text = self.pattern[self.position + 2 : end if end >= 0 else None]
        self.position = end + 2 if end >= 0 else len(self.pattern)
        # A quantifier after the quotation repeats its last character, in both dialects.
        return re.escape(text)

    def _named_reference(self) -> str:
        found = re.compile(r"\\k<([a-zA-Z][a-zA-Z0-9]*)>").match(self.pattern, self.position)
        if found is None:
            raise self._error("\\k needs the name of a group, as in \\k<name>")
        self.position = found.end()
        return f"(?P={found[1]})"

    def _reference(self) -> str:
        group = int(self.pattern[self.position + 1])
        self.position += 2
        while self.position < len(self.pattern) and self.pattern[self.position] in "0123456789":
            longer = group * 10 + int(self.pattern[self.position])
            if longer > self.groups:
                break
            group = longer
            self.position += 1
        # Java never matches a reference to a group that is not there yet; Python refuses to compile
        # it.
        return f"(?:\\{group})" if group <= self.groups else "(?!)"

    def _class_escape(self) -> str | None:
        """An escape that stands for a set of characters, or None (and nothing is consumed)."""
        char = self._peek_escape()
        if char in "dDwWsS":
            self.position += 2
            return "\\" + char
        sets = {"h": f"[{_HORIZONTAL}]", "H": f"[^{_HORIZONTAL}]"}
        sets |= {"v": f"[{_VERTICAL}]", "V": f"[^{_VERTICAL}]"}
        if char in sets:
            self.position += 2
            return sets[char]
        if char not in "pP":
            return None
        found = re.compile(r"\\[pP](?:\{([^}]*)\}|([A-Z]))").match(self.pattern, self.position)
        if found is None:
            raise self._error("\\p needs a property, as in \\p{Alpha}")
        name = found[1] or found[2] or ""
        members = _POSIX.get(name, _POSIX.get(name.removeprefix("Is")))
        if members is None:
            raise self._error(f"the property {{{name}}} is not supported")
        self.position = found.end()
        return f"[{'^' if char == 'P' else ''}{members}]"

    def _literal_escape(self) -> str:
        """The one character that an escape stands for."""
        char = self._peek_escape()
        rest = self.pattern[self.position :]
        if char in _CONTROLS:
            self.position += 2
            return _CONTROLS[char]
        numeric = re.match(
            r"\\(?:0([0-3]?[0-7]{1,2})|x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4}))",
            rest,
        )
        if numeric:
            self.position += numeric.end()
            digits = numeric[2] or numeric[3] or numeric[4]
            code = int(digits, 16) if digits else int(numeric[1], 8)
            if code > 0x10FFFF:
                raise self._error("there is no character of this code")
            return chr(code)
        if char == "c" and len(rest) > 2:
            self.position += 3
            return chr(ord(rest[2]) ^ 64)
        if char.isascii() and (char.isalpha() or char == "0"):
            raise self._error(f"\\{char} means nothing")
        self.position += 2
        return char

    def _class(self) -> str:
        """A class in brackets, with its nested classes and intersections, as one character's worth
        of regex.
        """
        opened_at = self.position
        self.position += 1
        is_negated = self.pattern.startswith("^", self.position)
        if is_negated:
            self.position += 1
        intersected: list[str] = []
        flat: list[str] = []  # members for one Python class
        nested: list[str] = []  # alternatives that need their own brackets
        is_first = True
        while True:
            if self.position >= len(self.pattern):
                raise self._error(f"the [ at {opened_at} is not closed")
            char = self.pattern[self.position]
            if char == "]" and not is_first:
                self.position += 1
                break
            if self.pattern.startswith("&&", self.position):
                self.position += 2
                if flat or nested:
                    intersected.append(_union(flat, nested))
                flat, nested = [], []
            elif char == "[":
                nested.append(self._class())
            else:
                self._member(flat, nested)
            is_first = False
        if flat or nested:
            intersected.append(_union(flat, nested))
        if not intersected:
            raise self._error("the brackets are empty")
        if len(intersected) == 1 and flat and not nested:
            return f"[{'^' if is_negated else ''}{''.join(flat)}]"
        whole = "".join(f"(?={part})" for part in intersected[1:]) + intersected[0]
        return rf"(?:(?!{whole})[\s\S])" if is_negated else f"(?:{whole})"

    def _member(self, flat: list[str], nested: list[str]) -> None:
        """One character, range or escape inside brackets."""
        if self.pattern.startswith("\\Q", self.position):
            end = self.pattern.find("\\E", self.position)
            text = self.pattern[self.position + 2 : end if end >= 0 else None]
            self.position = end + 2 if end >= 0 else len(self.pattern)
            flat.extend(_class_literal(char) for char in text)
            return
        if self.pattern[self.position] == "\\":
            members = self._class_escape()
            if members is not None:
                (nested if members.startswith("[") else flat).append(members)
                return
        first = self._class_character()
        rest = self.pattern[self.position :]
        if rest.startswith("-") and rest[1:2] not in ("", "]", "["):
            self.position += 1
            last = self._class_character()
            if last < first:
                raise self._error(f"the range {first}-{last} is backwards")
            flat.append(f"{_class_literal(first)}-{_class_literal(last)}")
        else:
            flat.append(_class_literal(first))

    def _class_character(self) -> str:
        if self.pattern[self.position] == "\\":
            return self._literal_escape()
        self.position += 1
        return self.pattern[self.position - 1]

    def _error(self, what: str) -> JavaRegexError:
        return JavaRegexError(f"{what} (at {self.position} in {self.pattern})")


def _union(flat: list[str], nested: list[str]) -> str:
    parts = [f"[{''.join(flat)}]"] if flat else []
    parts += nested
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


def _class_literal(char: str) -> str:
    return f"\\{char}" if char in "\\]^-[&|~" else char
