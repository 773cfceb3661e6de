"""Parses ``sasl.jaas.config``, which configures a Java login module.

    org.apache.kafka.common.security.plain.PlainLoginModule required
        username="alice" password="alice-secret";

No class is loaded, but its name tells which mechanism the options are for, and the options hold
the credentials. The syntax is Kafka's: one module; comments as in Java; values in single or
double quotes, in which a backslash escapes.

Error messages name the position and not the text, because any text here may be a password.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_CONTROL_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_QUOTED: Final = r"""(?P<quote>["'])(?P<text>(?:\\.|(?!(?P=quote))[^\\\r\n])*)(?P=quote)"""
_TOKEN: Final = re.compile(
    rf"(?P<blank>\s+|//[^\r\n]*|/\*.*?\*/)|(?P<word>[\w.$\-]+)|{_QUOTED}|(?P<sign>[=;])", re.DOTALL
)
_ESCAPE: Final = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_CONTROLS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True)
class LoginModule:
    """One entry: the simple name of its class, and its options."""

    name: str
    options: dict[str, str] = field(repr=False)


def parse_jaas(text: str) -> LoginModule:
    """Parse the setting. Raises ValueError."""
    tokens = list(_tokens(text))
    if len(tokens) < 2 or tokens[1].text.lower() not in _CONTROL_FLAGS:
        flags = ", ".join(_CONTROL_FLAGS[1:])
        raise ValueError(f"a login module is expected first, then the word required (or {flags})")
    signs = [number for number, token in enumerate(tokens) if token.is_sign(";")]
    if not signs:
        raise ValueError("it does not end with a semicolon")
    if signs[0] != len(tokens) - 1:
        raise ValueError("there is text after the semicolon: a client has one login module")
    return LoginModule(tokens[0].text.rpartition(".")[2], dict(_options(tokens[2:-1])))


class _Token(NamedTuple):
    kind: str
    text: str
    # The position of its last character, counted from 1.
    position: int

    def is_sign(self, sign: str) -> bool:
        return self.kind == "sign" and self.text == sign


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise ValueError(
                f"syntax error at character {position + 1}: values that are more than "
                'letters and digits must be quoted, as in password="..."'
            )
        position = found.end()
        if found["quote"] is not None:
            yield _Token("text", _ESCAPE.sub(_unescaped, found["text"]), position)
        elif found["word"] is not None:
            yield _Token("word", found["word"], position)
        elif found["sign"] is not None:
            yield _Token("sign", found["sign"], position)


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1]
    return chr(int(code, 8)) if code[0] in "01234567" else _CONTROLS.get(code, code)


def _options(tokens: Sequence[_Token]) -> Iterator[tuple[str, str]]:
    for start in range(0, len(tokens), 3):
        option = tokens[start : start + 3]
        is_whole = len(option) == 3 and option[1].is_sign("=")
        if not is_whole or option[0].kind != "word" or option[2].kind == "sign":
            raise ValueError(
                f'an option must be written as name="value"; the one that ends at character '
                f"{option[-1].position} is not"
            )
        yield option[0].text, option[2].text
