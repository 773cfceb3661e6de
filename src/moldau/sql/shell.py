"""The shell of ``moldau sql``: history, input of several lines, completion.

A statement ends with a semicolon. Ctrl-C ends a query that runs, or clears what was typed; Ctrl-D
ends the shell.
"""

import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from moldau.sql.client import RemoteSession
from moldau.sql.completion import Names, complete
from moldau.sql.errors import Cancelled, SqlError, show_error
from moldau.sql.output import Printer
from moldau.sql.results import Form
from moldau.sql.statements import is_complete, statements

_QUIT: Final = ("quit", "exit")
_ALONE: Final = (*_QUIT, "help")
_PROMPT: Final = "sql> "
_MORE: Final = "  -> "
# How long names are taken as they were, in seconds.
_FRESH_S: Final = 10.0


def history_path(environment: Mapping[str, str]) -> Path:
    """The file of what was typed, in the user's state directory."""
    base = environment.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "moldau" / "sql_history"


def run_shell(session: RemoteSession, form: Form, environment: Mapping[str, str]) -> int:
    """Read statements from the terminal and run them, until Ctrl-D."""
    prompt = _prompt(session, environment)
    print("Statements end with a semicolon; help explains some, Ctrl-D leaves.")
    printer = Printer(form, sys.stdout, sys.stderr)
    while True:
        try:
            text = prompt()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        if _is_alone(text, _QUIT):
            return 0
        for statement in statements(text):
            if not run_one(session, statement, printer, form):
                break


def run_one(session: RemoteSession, statement: str, printer: Printer, form: Form) -> bool:
    """Run a statement in the shell; returns whether it succeeded."""
    printer.begin()
    started_s = time.monotonic()
    try:
        session.run(statement, form, printer)
    except Cancelled as reason:
        printer.end()
        printer.note(str(reason))
        return False
    except SqlError as error:
        printer.end()
        printer.note(show_error(error, statement))
        return False
    printer.end()
    if printer.row_count or form is Form.TABLE:
        taken_s = time.monotonic() - started_s
        rows = f"{printer.row_count} {'row' if printer.row_count == 1 else 'rows'}"
        printer.note(f"({rows}, {taken_s:.2f} s)")
    return True


def _is_alone(text: str, words: Iterable[str]) -> bool:
    return text.strip().rstrip(";").strip().lower() in words


def _prompt(session: RemoteSession, environment: Mapping[str, str]) -> Callable[[], str]:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion, ThreadedCompleter
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import FileHistory, History, InMemoryHistory
    from prompt_toolkit.key_binding import KeyBindings

    names = _Cached(session).names()

    class SqlCompleter(Completer):
        def get_completions(self, document: Document, _: object) -> Iterable[Completion]:
            before, after = document.text_before_cursor, document.text_after_cursor
            for each in complete(before, after, names):
                yield Completion(each.text, -each.length, display_meta=each.meaning)

    keys = KeyBindings()

    @keys.add("enter")
    def _enter(event: Any) -> None:
        buffer = event.current_buffer
        if buffer.complete_state is not None and buffer.complete_state.current_completion:
            # Enter takes the completion that is selected.
            buffer.complete_state = None
        elif is_complete(buffer.text) or not buffer.text.strip() or _is_alone(buffer.text, _ALONE):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    history: History = InMemoryHistory()
    path = history_path(environment)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        history = FileHistory(str(path))
    except OSError:
        # No home directory, or it is full: what is typed is forgotten at the end.
        pass
    prompt: PromptSession[str] = PromptSession(
        _PROMPT,
        multiline=True,
        prompt_continuation=_MORE,
        history=history,
        completer=ThreadedCompleter(SqlCompleter()),
        complete_while_typing=False,
        key_bindings=keys,
    )
    return prompt.prompt


class _Cached:
    """Names from the session, asked again when they are old."""

    def __init__(self, session: RemoteSession) -> None:
        self._session = session
        self._known: dict[tuple[str, str], tuple[float, list[str]]] = {}

    def names(self) -> Names:
        return Names(
            lambda: self._get("topics", "", lambda _: self._session.topics()),
            lambda topic: self._get("columns", topic, self._session.columns),
            lambda topic: self._get("fields", topic, self._session.fields),
            lambda: self._get("functions", "", lambda _: self._session.functions()),
        )

    def _get(self, what: str, of: str, ask: Callable[[str], list[str]]) -> list[str]:
        asked_s, known = self._known.get((what, of), (-_FRESH_S, []))
        if time.monotonic() - asked_s >= _FRESH_S:
            try:
                known = ask(of)
            except SqlError:
                known = []
            self._known[what, of] = (time.monotonic(), known)
        return known
