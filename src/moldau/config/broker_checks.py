"""Validation of combinations of broker settings.

The rules are Kafka's, so that both brokers accept the same configurations.
"""

from typing import TYPE_CHECKING

from moldau.config.definition import ConfigError
from moldau.config.group_checks import check_group_config
from moldau.config.listeners import Listener

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig


def check_broker_config(config: "BrokerConfig") -> None:
    """Raises ConfigError for the first setting that contradicts the others."""
    _check_security(config)
    _check_log(config)
    _check_replication(config)
    _check_roles(config)
    check_group_config(config)
    if config.is_broker:
        _check_advertised(config)
    if config.max_connections_per_ip == 0 and not config.connection_overrides:
        problem = "may be 0 only if max.connections.per.ip.overrides is set"
        raise ConfigError("max.connections.per.ip", 0, problem)
    if 0 < config.queued_max_request_bytes < config.socket_request_max_bytes:
        problem = f"must be at least socket.request.max.bytes={config.socket_request_max_bytes}"
        raise ConfigError("queued.max.request.bytes", config.queued_max_request_bytes, problem)


def _check_security(config: "BrokerConfig") -> None:
    for listener in (*config.listeners, *config.advertised):
        if listener.security_protocol != "PLAINTEXT":
            problem = (
                f"it uses {listener.security_protocol}, which Moldau does not support yet; "
                "listeners must be PLAINTEXT"
            )
            raise ConfigError("listeners", listener, problem)


def _check_log(config: "BrokerConfig") -> None:
    if config.log_roll_ms < 1:
        raise ConfigError("log.roll.ms", config.log_roll_ms, "must be at least 1")
    if config.log_roll_jitter_ms < 0:
        raise ConfigError("log.roll.jitter.ms", config.log_roll_jitter_ms, "must be at least 0")
    if config.log_retention_ms == 0:
        raise ConfigError("log.retention.ms", 0, "must be -1 (keep for ever) or at least 1")
    if config.log_cleaner_min_compaction_lag_ms > config.log_cleaner_max_compaction_lag_ms:
        problem = "must be at most log.cleaner.max.compaction.lag.ms"
        value = config.log_cleaner_min_compaction_lag_ms
        raise ConfigError("log.cleaner.min.compaction.lag.ms", value, problem)
    threads = max(config.log_cleaner_threads, 1)
    if config.log_cleaner_dedupe_buffer_size // threads <= 1024 * 1024:
        value = config.log_cleaner_dedupe_buffer_size
        problem = "must be more than 1048576 per cleaner thread"
        raise ConfigError("log.cleaner.dedupe.buffer.size", value, problem)


def _check_replication(config: "BrokerConfig") -> None:
    wait_ms = config.replica_fetch_wait_max_ms
    if wait_ms > config.replica_socket_timeout_ms:
        problem = f"must be at most replica.socket.timeout.ms={config.replica_socket_timeout_ms}"
        raise ConfigError("replica.fetch.wait.max.ms", wait_ms, problem)
    if wait_ms > config.replica_lag_time_max_ms:
        problem = f"must be at most replica.lag.time.max.ms={config.replica_lag_time_max_ms}"
        raise ConfigError("replica.fetch.wait.max.ms", wait_ms, problem)


def _check_roles(config: "BrokerConfig") -> None:
    voters = _voter_ids(config.controller_quorum_voters)
    if not voters and not config.controller_quorum_bootstrap_servers:
        problem = "this or controller.quorum.voters must name the controllers"
        raise ConfigError("controller.quorum.bootstrap.servers", "''", problem)
    if config.is_controller:
        _check_controller_role(config, voters)
    else:
        _check_only_broker(config, voters)


def _check_controller_role(config: "BrokerConfig", voters: list[int]) -> None:
    if voters and config.node_id not in voters:
        text = ",".join(config.controller_quorum_voters)
        problem = f"must contain node {config.node_id}, which has the controller role"
        raise ConfigError("controller.quorum.voters", text, problem)
    if config.is_lone and not config.controller_listeners:
        return
    listening = [listener.name for listener in config.listeners]
    names = [name.upper() for name in config.controller_listener_names]
    for name in names:
        if name not in listening:
            problem = f"{name} is not one of the listeners: {', '.join(listening)}"
            raise ConfigError("controller.listener.names", name, problem)
    for listener in config.controller_endpoints:
        _check_one_advertised(listener, listening)
    if config.is_broker:
        return
    for listener in config.listeners:
        if listener.name not in names:
            problem = (
                "a node with process.roles=controller has only the listeners in "
                f"controller.listener.names: {', '.join(names)}"
            )
            raise ConfigError("listeners", listener, problem)


def _check_only_broker(config: "BrokerConfig", voters: list[int]) -> None:
    if config.node_id in voters:
        text = ",".join(config.controller_quorum_voters)
        problem = (
            f"must not contain node {config.node_id}, which has only the broker role; add "
            "controller to process.roles, or give the broker another node.id"
        )
        raise ConfigError("controller.quorum.voters", text, problem)
    for listener in config.controller_listeners:
        problem = (
            "it is one of controller.listener.names, and a node with process.roles=broker does "
            "not listen for controllers"
        )
        raise ConfigError("listeners", listener, problem)
    if config.controller_quorum_auto_join_enable:
        problem = "only a node with the controller role can join the voters"
        raise ConfigError("controller.quorum.auto.join.enable", "true", problem)


def _voter_ids(voters: tuple[str, ...]) -> list[int]:
    """The node ids in ``1@host:9093``."""
    ids = []
    for voter in voters:
        node, at, address = voter.partition("@")
        if not at or not node.isdigit() or not address.rpartition(":")[2].isdigit():
            raise ConfigError("controller.quorum.voters", voter, "write id@host:port")
        ids.append(int(node))
    return ids


def _check_advertised(config: "BrokerConfig") -> None:
    names = [listener.name for listener in config.advertised]
    if not names:
        text = ",".join(map(str, config.listeners))
        problem = "a broker needs a listener that is not in controller.listener.names"
        raise ConfigError("listeners", text, problem)
    if config.inter_broker_listener_name not in names:
        problem = f"must be one of the advertised listeners: {', '.join(names)}"
        value = config.inter_broker_listener_name
        raise ConfigError("inter.broker.listener.name", value, problem)
    listening = [listener.name for listener in config.listeners]
    for listener in config.advertised:
        _check_one_advertised(listener, listening)


def _check_one_advertised(listener: Listener, listening: list[str]) -> None:
    if listener.name not in listening:
        problem = f"its name must be one of the listeners: {', '.join(listening)}"
        raise ConfigError("advertised.listeners", listener, problem)
    if listener.host == "0.0.0.0":
        problem = (
            "clients cannot connect to 0.0.0.0: set an address that they can reach, or listen "
            "without a host (:9092), which advertises the name of this machine"
        )
        raise ConfigError("advertised.listeners", listener, problem)
