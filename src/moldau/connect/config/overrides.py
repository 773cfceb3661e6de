"""Settings of a connector's own clients: ``producer.override.``, ``consumer.override.``, ``admin.``

Which of them a connector may set is the worker's ``connector.client.config.override.policy``
(KIP-458), by name or by Kafka's class name.
"""

from collections.abc import Mapping
from typing import Final

from moldau.connect.config.definition import ConfigKey, ConfigValue

_POLICY: Final = "connector.client.config.override.policy"
_ALLOWLIST: Final = "connector.client.config.override.allowlist"
_SUFFIX: Final = "ConnectorClientConfigOverridePolicy"
_PRINCIPAL: Final = ("sasl.jaas.config", "sasl.mechanism", "security.protocol")


def client_overrides(
    config: Mapping[str, str | None], worker: Mapping[str, str], is_sink: bool
) -> list[tuple[ConfigKey | None, ConfigValue]]:
    """The overrides in ``config``, with an error for each that the policy does not allow."""
    has_dead_letters = bool((config.get("errors.deadletterqueue.topic.name") or "").strip())
    prefixes = []
    if not is_sink or has_dead_letters:
        prefixes.append("producer.override.")
    if not is_sink or has_dead_letters:
        prefixes.append("admin.override.")
    if is_sink or config.get("offsets.storage.topic"):
        prefixes.append("consumer.override.")
    policy = policy_name(worker)
    found: list[tuple[ConfigKey | None, ConfigValue]] = []
    for prefix in prefixes:
        for name, text in config.items():
            if name.startswith(prefix):
                setting = name.removeprefix(prefix)
                value = ConfigValue(name, text)
                if not _is_allowed(policy, setting, worker):
                    value.errors.append(
                        f"{_POLICY}={policy} of the worker forbids {setting} here: remove {name}"
                    )
                found.append((None, value))
    return found


def policy_name(worker: Mapping[str, str]) -> str:
    """All, None, Principal or Allowlist."""
    name = worker.get(_POLICY, "All").strip()
    return name.rpartition(".")[2].removesuffix(_SUFFIX)


def _is_allowed(policy: str, setting: str, worker: Mapping[str, str]) -> bool:
    match policy:
        case "None":
            return False
        case "Principal":
            return setting in _PRINCIPAL
        case "Allowlist":
            allowed = worker.get(_ALLOWLIST, "").split(",")
            return setting in [name.strip() for name in allowed]
    return True
