"""A herder without Kafka and Spark: connectors are entries of a dictionary, always RUNNING."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from moldau.connect.config.validation import problems_text, validate
from moldau.connect.plugins import Plugins
from moldau.connect.rest_errors import BadRequestError, ConflictError, Forward, NotFoundError
from tests.connect.config.connectors import WORKER

WORKER_ID = "127.0.0.1:8083"


class MemoryHerder:
    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins
        self.is_ready = True
        self.active_url: str | None = None
        self.configs: dict[str, dict[str, str]] = {}
        self.states: dict[str, str] = {}
        self.stored: dict[str, list[Mapping[str, Any]]] = {}
        self.used_topics: dict[str, list[str]] = {}
        self.cluster_levels: list[tuple[str, str]] = []
        self.calls: list[tuple[Any, ...]] = []
        self._lock = threading.Lock()

    def worker_info(self) -> dict[str, Any]:
        return {"version": "1", "commit": "abc", "kafka_cluster_id": "id"}

    def health(self) -> tuple[bool, str]:
        return self.is_ready, "" if self.is_ready else "Spark is starting"

    def connectors(self) -> list[str]:
        return list(self.configs)

    def connector_info(self, name: str) -> dict[str, Any]:
        config = self.config(name)
        tasks = [] if self.states[name] == "STOPPED" else [{"connector": name, "task": 0}]
        return {"name": name, "config": config, "tasks": tasks, "type": self._type(config)}

    def config(self, name: str) -> dict[str, str]:
        if name not in self.configs:
            raise NotFoundError(f"There is no connector {name}")
        return self.configs[name]

    def create(
        self, name: str, config: Mapping[str, str], initial_state: str | None = None
    ) -> dict[str, Any]:
        self._act()
        self._check(config)
        with self._lock:
            if name in self.configs:
                raise ConflictError(f"There is a connector {name} already")
            self.configs[name] = dict(config)
            self.states[name] = initial_state or "RUNNING"
        return self.connector_info(name)

    def put_config(self, name: str, config: Mapping[str, str]) -> tuple[bool, dict[str, Any]]:
        self._act()
        self._check(config)
        is_new = name not in self.configs
        self.configs[name] = dict(config)
        self.states.setdefault(name, "RUNNING")
        return is_new, self.connector_info(name)

    def patch_config(self, name: str, patch: Mapping[str, str | None]) -> dict[str, Any]:
        merged = {**self.config(name), **patch}
        config = {key: value for key, value in merged.items() if value is not None}
        return self.put_config(name, config)[1]

    def delete(self, name: str) -> None:
        self._act()
        self.config(name)
        del self.configs[name], self.states[name]

    def status(self, name: str) -> dict[str, Any]:
        info = self.connector_info(name)
        state = {"state": self.states[name], "worker_id": WORKER_ID, "version": "1"}
        tasks = [{"id": task["task"], **state} for task in info["tasks"]]
        return {"name": name, "connector": state, "tasks": tasks, "type": info["type"]}

    def task_status(self, name: str, task: int) -> dict[str, Any]:
        for each in self.status(name)["tasks"]:
            if each["id"] == task:
                return dict(each)
        raise NotFoundError(f"There is no status of task {name}-{task}")

    def tasks(self, name: str) -> list[dict[str, Any]]:
        info = self.connector_info(name)
        return [{"id": task, "config": info["config"]} for task in info["tasks"]]

    def restart(
        self, name: str, *, include_tasks: bool, only_failed: bool
    ) -> dict[str, Any] | None:
        self._act()
        self.calls.append(("restart", name, include_tasks, only_failed))
        status = self.status(name)
        return status if include_tasks or only_failed else None

    def restart_task(self, name: str, task: int) -> None:
        self.task_status(name, task)
        self.calls.append(("restart_task", name, task))

    def pause(self, name: str) -> None:
        self._move(name, "PAUSED")

    def resume(self, name: str) -> None:
        self._move(name, "RUNNING")

    def stop(self, name: str) -> None:
        self._move(name, "STOPPED")

    def topics(self, name: str) -> dict[str, Any]:
        return {name: {"topics": self.used_topics.get(name, [])}}

    def reset_topics(self, name: str) -> None:
        self.used_topics.pop(name, None)

    def offsets(self, name: str) -> dict[str, Any]:
        self.config(name)
        return {"offsets": self.stored.get(name, [])}

    def alter_offsets(self, name: str, offsets: Sequence[Mapping[str, Any]]) -> str:
        self._check_stopped(name)
        self.stored[name] = list(offsets)
        return "The offsets of this connector are altered"

    def reset_offsets(self, name: str) -> str:
        self._check_stopped(name)
        self.stored.pop(name, None)
        return "The offsets of this connector are reset"

    def validate(self, class_name: str, config: Mapping[str, str]) -> dict[str, Any]:
        return validate(config, self.plugins, WORKER)

    def set_cluster_log_level(self, logger: str, level: str) -> None:
        self.cluster_levels.append((logger, level))

    def _act(self) -> None:
        if self.active_url is not None:
            raise Forward(self.active_url)

    def _check(self, config: Mapping[str, str]) -> None:
        text = problems_text(validate(config, self.plugins, WORKER))
        if text:
            raise BadRequestError(text)

    def _check_stopped(self, name: str) -> None:
        self._act()
        self.config(name)
        if self.states[name] != "STOPPED":
            raise BadRequestError(f"{name} is not STOPPED")

    def _move(self, name: str, state: str) -> None:
        self._act()
        if name not in self.configs:
            raise NotFoundError(f"There is no connector {name}")
        self.states[name] = state

    def _type(self, config: Mapping[str, str]) -> str:
        return self.plugins.find_connector(config["connector.class"]).type.value
