"""``moldau cluster health``: what is wrong with a cluster, and what helps.

``findings`` is pure: partitions, brokers and the quorum in, findings out, the worst first.
"""

import argparse
from collections.abc import Iterable, Mapping, Sequence, Set
from enum import IntEnum
from typing import Final, NamedTuple

from moldau.cli.admin_command import admin_of
from moldau.cli.output import plural, print_json
from moldau.client.node_admin import QuorumDescription, RegisteredBroker
from moldau.client.partition_admin import PartitionState

_MAX_EXAMPLES: Final = 5
# A voter that is this far behind does not help to form a majority.
_MAX_VOTER_SILENCE_MS: Final = 10_000
# As in leader.imbalance.per.broker.percentage.
_MAX_IMBALANCE_PERCENT: Final = 10


class Severity(IntEnum):
    """How bad it is: clients are affected, or would be by one more failure, or it is untidy."""

    ERROR = 0
    WARNING = 1
    NOTE = 2


class HealthFinding(NamedTuple):
    """One thing that is wrong, with examples and what helps."""

    severity: Severity
    kind: str
    problem: str
    affected: list[str]
    remedy: str


class ClusterState(NamedTuple):
    """Everything that is looked at."""

    partitions: Sequence[PartitionState]
    min_isr: Mapping[str, int]
    brokers: Sequence[RegisteredBroker]
    quorum: QuorumDescription


def findings(state: ClusterState) -> list[HealthFinding]:
    """What is wrong, the worst first."""
    found = [*_partition_findings(state), *_broker_findings(state), *_quorum_findings(state.quorum)]
    return sorted(found, key=lambda each: each.severity)


def _partition_findings(state: ClusterState) -> list[HealthFinding]:
    found = _offline([each for each in state.partitions if each.leader < 0])
    online = [each for each in state.partitions if each.leader >= 0]
    under_min = [each for each in online if len(each.isr) < state.min_isr[each.partition.topic]]
    under = [each for each in online if len(each.isr) < len(each.replicas)]
    live = {each.node_id for each in state.brokers if not each.is_fenced}
    if under_min:
        remedy = _missing_remedy(under_min, live)
        found.append(
            HealthFinding(
                Severity.ERROR,
                "under-min-isr",
                f"{plural(len(under_min), 'partition')} with fewer replicas in sync than "
                "min.insync.replicas: producers with acks=all get NOT_ENOUGH_REPLICAS",
                _names(under_min),
                f"{remedy}, or move the replicas to other brokers ('moldau partitions reassign')"
                if remedy
                else "lower min.insync.replicas, or give them more replicas ('moldau partitions "
                "reassign --replication-factor')",
            )
        )
    only_under = [each for each in under if each not in under_min]
    if only_under:
        found.append(
            HealthFinding(
                Severity.WARNING,
                "under-replicated",
                f"{plural(len(only_under), 'partition')} with replicas that are not in sync",
                _names(only_under),
                f"{_missing_remedy(only_under, live)}; a replica that runs catches up by itself",
            )
        )
    holding = [each for each in online if each.eligible_leader_replicas]
    if holding:
        nodes = _brokers(node for each in holding for node in each.eligible_leader_replicas)
        found.append(
            HealthFinding(
                Severity.WARNING,
                "eligible-leader-replicas",
                f"{plural(len(holding), 'partition')} with eligible leader replicas out of sync",
                _names(holding),
                f"keep the data of {nodes}, which can lead without losing records if the ISR is "
                "lost",
            )
        )
    return found


def _offline(offline: Sequence[PartitionState]) -> list[HealthFinding]:
    found = []
    recoverable = [each for each in offline if each.eligible_leader_replicas]
    lost = [each for each in offline if not each.eligible_leader_replicas]
    if recoverable:
        nodes = _ids(node for each in recoverable for node in each.eligible_leader_replicas)
        found.append(
            HealthFinding(
                Severity.ERROR,
                "offline",
                f"{plural(len(recoverable), 'partition')} without a leader: their eligible leader "
                "replicas, which have all acknowledged records, are not in service",
                _names(recoverable),
                f"start broker {nodes.replace(', ', ' or ')}: it can lead without losing records",
            )
        )
    if lost:
        nodes = _ids(node for each in lost for node in each.last_known_elr or each.isr)
        found.append(
            HealthFinding(
                Severity.ERROR,
                "offline",
                f"{plural(len(lost), 'partition')} without a leader",
                _names(lost),
                f"start the brokers that had them last{f' ({nodes})' if nodes else ''}; if they "
                "are lost, 'moldau partitions elect-leaders --unclean' gives up their last records",
            )
        )
    return found


def _broker_findings(state: ClusterState) -> list[HealthFinding]:
    found = []
    fenced = [each for each in state.brokers if each.is_fenced]
    if fenced:
        found.append(
            HealthFinding(
                Severity.WARNING,
                "fenced",
                f"{plural(len(fenced), 'broker')} not in service",
                [f"broker {each.node_id} ({each.host}:{each.port})" for each in fenced],
                "start it; if it does not come back, move its partitions ('moldau partitions "
                "reassign') and unregister it ('moldau brokers unregister')",
            )
        )
    registered = {each.node_id for each in state.brokers}
    orphans = [each for each in state.partitions if not registered.issuperset(each.replicas)]
    if orphans:
        gone = _ids(n for each in orphans for n in each.replicas if n not in registered)
        found.append(
            HealthFinding(
                Severity.WARNING,
                "unregistered",
                f"{plural(len(orphans), 'partition')} with replicas on unregistered brokers {gone}",
                _names(orphans),
                "give them other replicas with 'moldau partitions reassign'",
            )
        )
    found += _skew(state, {each.node_id for each in state.brokers if not each.is_fenced})
    return found


def _skew(state: ClusterState, live: set[int]) -> list[HealthFinding]:
    """Partitions that another broker leads than the one that should, and brokers without any."""
    found = []
    away = [
        each
        for each in state.partitions
        if each.leader >= 0 and each.leader != each.replicas[0] and each.replicas[0] in live
    ]
    if len(away) * 100 > _MAX_IMBALANCE_PERCENT * len(state.partitions):
        found.append(
            HealthFinding(
                Severity.NOTE,
                "leader-skew",
                f"{plural(len(away), 'partition')} not led by the preferred replica",
                _names(away),
                "'moldau partitions elect-leaders --all' gives leadership back; the controller "
                "does so by itself every leader.imbalance.check.interval.seconds",
            )
        )
    counts = dict.fromkeys(sorted(live), 0)
    for each in state.partitions:
        for node_id in each.replicas:
            if node_id in counts:
                counts[node_id] += 1
    if counts and max(counts.values()) > 2 * min(counts.values()) + 1:
        ids = ",".join(map(str, counts))
        found.append(
            HealthFinding(
                Severity.NOTE,
                "replica-skew",
                "some brokers have more than twice as many replicas as others",
                [f"broker {node_id}: {count} replicas" for node_id, count in counts.items()],
                f"'moldau partitions reassign TOPIC --brokers {ids} --execute' spreads them",
            )
        )
    return found


def _quorum_findings(quorum: QuorumDescription) -> list[HealthFinding]:
    leads = [each for each in quorum.voters if each.node_id == quorum.leader_id]
    now_ms = leads[0].last_caught_up_ms if leads else -1
    silent = [
        each
        for each in quorum.voters
        if each.node_id != quorum.leader_id
        and now_ms >= 0
        and now_ms - each.last_caught_up_ms > _MAX_VOTER_SILENCE_MS
    ]
    if not silent:
        return []
    count = len(quorum.voters)
    spare = (count - 1) // 2 - len(silent)
    return [
        HealthFinding(
            Severity.WARNING,
            "quorum",
            f"{len(silent)} of {count} controllers do not follow the metadata; "
            f"{max(0, spare)} more may fail before nothing can be changed",
            [f"controller {each.node_id}" for each in silent],
            "start it; if its disk is lost, 'moldau quorum remove-controller', format it with "
            "--no-initial-controllers, start it and 'moldau quorum add-controller'",
        )
    ]


def _missing_remedy(states: Sequence[PartitionState], live: Set[int]) -> str:
    """What brings back the replicas that are not in sync; empty if all are."""
    missing = {n for each in states for n in each.replicas if n not in each.isr}
    remedies = []
    if missing - live:
        remedies.append(f"start or repair {_brokers(missing - live)}")
    if missing & live:
        # A throttle, or a broker that has just been started, is not a reason to repair it.
        remedies.append(
            f"wait for {_brokers(missing & live)} (in service; 'moldau partitions reassign "
            "--verify' shows replicas on the move)"
        )
    return ", ".join(remedies)


def _brokers(nodes: Iterable[int]) -> str:
    """``broker 2``, or ``brokers 2, 3``."""
    ids = _ids(nodes)
    return f"brokers {ids}" if "," in ids else f"broker {ids}"


def _ids(nodes: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(set(nodes))))


def _names(states: Sequence[PartitionState]) -> list[str]:
    return [str(each.partition) for each in states]


def show_health(options: argparse.Namespace) -> int:
    """Print what is wrong; returns 1 if clients are affected, or would be by one more failure."""
    with admin_of(options) as admin:
        partitions, nodes = admin.partitions, admin.nodes
        states = partitions.describe()
        topics = dict.fromkeys(each.partition.topic for each in states)
        state = ClusterState(
            states,
            partitions.min_insync_replicas(topics),
            nodes.brokers(),
            nodes.describe_quorum(),
        )
    found = findings(state)
    is_healthy = all(each.severity is Severity.NOTE for each in found)
    if options.format == "json":
        print_json({"healthy": is_healthy, "findings": [_json(each) for each in found]})
    else:
        _print(state, found)
    return 0 if is_healthy else 1


def _json(finding: HealthFinding) -> dict[str, object]:
    return {**finding._asdict(), "severity": finding.severity.name.lower()}


def _print(state: ClusterState, found: Sequence[HealthFinding]) -> None:
    for each in found:
        print(f"{each.severity.name.lower()}: {each.problem}")
        shown = ", ".join(each.affected[:_MAX_EXAMPLES])
        more = len(each.affected) - _MAX_EXAMPLES
        print(f"  {shown}{f' and {more} more' if more > 0 else ''}")
        print(f"  remedy: {each.remedy}")
    if not found:
        live = sum(not each.is_fenced for each in state.brokers)
        print(
            f"Healthy: {plural(live, 'broker')}, {plural(len(state.quorum.voters), 'controller')}, "
            f"{plural(len(state.partitions), 'partition')}, all replicas in sync."
        )
