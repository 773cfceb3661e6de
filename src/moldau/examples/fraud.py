"""Detects payments with a stolen card: a small one to test it, soon followed by a large one.

A processor keeps state for each card and sets a timer: when a minute has passed in event time
without a large payment, it writes an all-clear and clears the state.

With a broker on localhost:9092:

    moldau topics create payments
    moldau stream run examples/fraud.py

and in other terminals:

    echo '{"amount": 0.5, "shop": "kiosk"}' | moldau produce payments --key card-1
    echo '{"amount": 950.0, "shop": "jeweller"}' | moldau produce payments --key card-1
    moldau consume alerts --from-beginning
"""

from collections.abc import Iterator
from typing import Any, Final

from moldau.streams import STRING, App, Context, Json, Processor
from moldau.streams.keyed_state import States

SMALL: Final = 1.0
LARGE: Final = 500.0
WITHIN_MS: Final = 60_000


class TrialPayments(Processor):
    """Keeps, for each card, a small payment that may be a test, for one minute."""

    def init(self, states: States) -> None:
        self.trial = states.value("trial")

    def process(self, context: Context, key: str, value: dict[str, Any]) -> Iterator[Any]:
        trial = self.trial.get()
        # A timer fires after the records of its batch, so late payments are told by their time.
        is_soon = trial is not None and context.timestamp_ms <= trial["until"]
        if is_soon and value["amount"] > LARGE:
            yield {"alert": "fraud", "shop": value["shop"], "amount": value["amount"]}
            self._forget(context, trial)
        elif trial is None and value["amount"] < SMALL:
            forget_ms = context.timestamp_ms + WITHIN_MS
            self.trial.set({"shop": value["shop"], "amount": value["amount"], "until": forget_ms})
            context.set_timer(forget_ms)

    def on_timer(self, context: Context, key: str) -> Iterator[Any]:
        trial = self.trial.get()
        if trial is not None:
            yield {"alert": "all clear", "shop": trial["shop"], "amount": trial["amount"]}
            self.trial.clear()

    def _forget(self, context: Context, trial: dict[str, Any]) -> None:
        context.delete_timer(trial["until"])
        self.trial.clear()


app = App("fraud")

payments = app.stream("payments", key=STRING, value=Json("amount double, shop string"))
alerts = payments.process(
    TrialPayments(), "alert string, shop string, amount double", grace="5 seconds", name="trials"
)
alerts.to("alerts", key=STRING, value=Json())


if __name__ == "__main__":
    app.run()
