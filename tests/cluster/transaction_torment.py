"""Transactions on a replicated topic while the nodes of its cluster fail, and the verdict."""

import time
from pathlib import Path

from tools.clusters import Cluster, eventually

from tests.cluster.faults import Faults
from tests.cluster.namespaces import Namespaces
from tests.cluster.torment import SEED, create_topic
from tests.cluster.torment import SETTINGS as CLUSTER_SETTINGS
from tests.cluster.transactions import (
    CommittedReader,
    Fate,
    TransactionalWriter,
    committed_values,
    violations,
)
from tests.compat.clients.transactors import Transactor
from tests.compat.copiers import Copiers

SOURCE = "written"
COPY = "copied"
PARTITIONS = 4
COPIERS = 2
# So many that they keep up with the writers.
RECORDS_PER_COPY = 100
PAUSE_S = 0.01
CATCHING_UP_LIMIT_S = 180.0
LINE_WIDTH = 250
SETTINGS = CLUSTER_SETTINGS | {
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "4",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


class TransactionTorment:
    """Writers of transactions, a reader and copiers of what was committed, on a cluster."""

    def __init__(self, cluster: Cluster, folder: Path, transactors: list[Transactor]) -> None:
        self._cluster = cluster
        create_topic(cluster, SOURCE, PARTITIONS)
        create_topic(cluster, COPY, PARTITIONS)
        self._writers = [
            TransactionalWriter(number, transactor, SOURCE, PARTITIONS, PAUSE_S)
            for number, transactor in enumerate(transactors, 1)
        ]
        self._reader = CommittedReader(cluster.bootstrap, SOURCE, PARTITIONS)
        self._copiers = Copiers(COPIERS, cluster.bootstrap, SOURCE, COPY, folder, RECORDS_PER_COPY)
        self._faults: Faults | None = None

    def run(self, seconds: float, namespaces: Namespaces | None = None, seed: int = SEED) -> None:
        """Faults for so many seconds under load; raises with the whole story if a check fails."""
        self._faults = Faults(self._cluster, SOURCE, seed, namespaces)
        for each in [self._reader, *self._writers]:
            each.start()
        try:
            # A copier whose partitions are empty ends at once.
            eventually("something is committed", lambda: _count(self._reader.values()) > 0)
            self._copiers.keep()
            self._faults.run(seconds)
            for writer in self._writers:
                writer.stop()
                assert writer.failure is None, f"{writer.name}: {writer.failure!r}"
            self._check()
        except BaseException as error:
            told = "\n".join(self.told())
            raise AssertionError(
                f"{error}\n{self.summary()}, seed {seed}, at {time.strftime('%H:%M:%S')}\n{told}\n"
                f"{self._copiers.said()}\n{self._log_tails()}"
            ) from error
        finally:
            self._copiers.close()

    def _check(self) -> None:
        written = committed_values(self._cluster.bootstrap, SOURCE, PARTITIONS)
        for writer in self._writers:
            found = violations(writer.transactions, written)
            assert not found, f"{writer.name}:\n" + "\n".join(found)
        count = _count(written)
        eventually(
            "the reader has read everything",
            lambda: _count(self._reader.values()) >= count,
            CATCHING_UP_LIMIT_S,
        )
        self._reader.stop()
        assert self._reader.values() == written
        assert not self._reader.errors, self._reader.errors
        eventually(f"{count} records are copied", lambda: self._copied(count), CATCHING_UP_LIMIT_S)
        assert committed_values(self._cluster.bootstrap, COPY, PARTITIONS) == written

    def _copied(self, count: int) -> bool:
        return _count(committed_values(self._cluster.bootstrap, COPY, PARTITIONS)) >= count

    def summary(self) -> str:
        """What was done, and what the writers and copiers met."""
        fates = [each.fate for writer in self._writers for each in writer.transactions]
        counts = ", ".join(f"{fates.count(fate)} {fate.value}" for fate in Fate)
        longest, name = max((each.longest, each.name) for each in self._writers)
        return (
            f"transactions: {counts}; the longest took {longest[0]:.1f} s from {longest[1]} on "
            f"({name}); copiers ended {self._copiers.endings}"
        )

    def told(self) -> list[str]:
        """Every fault, with the errors that clients did not get over by themselves."""
        faults = [] if self._faults is None else self._faults.told
        return [*faults, *self._errors().splitlines()]

    def _errors(self) -> str:
        return "\n".join(
            f"{writer.name}: {error}"[:LINE_WIDTH]
            for writer in self._writers
            for error in writer.errors
        )

    def _log_tails(self) -> str:
        lines = self._cluster.log_tails(lines=12).splitlines()
        return "\n".join(line[:LINE_WIDTH] for line in lines)


def _count(values: dict[int, list[str]]) -> int:
    return sum(len(each) for each in values.values())
