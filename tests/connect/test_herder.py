"""What a worker does with connectors, on a real broker and with an engine that runs nothing."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moldau.client.admin import Admin
from moldau.client.consumer import Consumer
from moldau.client.offsets import LATEST
from moldau.client.producer import Producer
from moldau.connect.engine_api import State
from moldau.connect.membership.standing import Membership, Standing
from moldau.connect.rest_errors import BadRequestError, ConflictError, Forward, NotFoundError
from moldau.connect.stores.config_records import TargetState, connector_config, target_state
from moldau.errors import ApiError, ErrorCode
from tests.connect.herding import SHORT_SESSION, SINK, SOURCE, Herding, config, running
from tests.running import RunningBroker


def keys_and_values(broker: RunningBroker, topic: str) -> list[tuple[str, bytes | None]]:
    with Consumer(broker.bootstrap) as consumer:
        partitions = consumer.partitions_of(topic)
        ends = consumer.offsets_at(dict.fromkeys(partitions, LATEST))
        consumer.assign(dict.fromkeys(partitions, 0))
        found: list[tuple[str, bytes | None]] = []
        while any(consumer.positions[each] < end for each, end in ends.items()):
            found += [((each.key or b"").decode(), each.value) for each in consumer.poll(0.2)]
        return found


def test_a_connector_is_created_and_runs(broker: RunningBroker, herding: Herding) -> None:
    herder = herding.herder
    answer = herder.create("created", {"connector.class": SINK, "x": "1"})
    named = config("created", x="1")
    assert answer == {"name": "created", "config": named, "tasks": [], "type": "sink"}
    herding.wait_for_state("created", "RUNNING")
    assert "created" in herder.connectors()
    assert herder.connector_info("created")["tasks"] == [{"connector": "created", "task": 0}]
    assert herder.config("created") == named
    assert herder.status("created") == {
        "name": "created",
        "connector": {"state": "RUNNING", "worker_id": "127.0.0.1:8083", "version": "1.2"},
        "tasks": [{"id": 0, "state": "RUNNING", "worker_id": "127.0.0.1:8083", "version": "1.2"}],
        "type": "sink",
    }
    assert herder.task_status("created", 0)["state"] == "RUNNING"
    assert herder.tasks("created") == [
        {
            "id": {"connector": "created", "task": 0},
            "config": {**named, "task.class": "org.example.NullSinkTask"},
        }
    ]
    written = [
        key for key, _ in keys_and_values(broker, "shared-config") if key.endswith("created")
    ]
    assert written == ["connector-created", "commit-created"]


def test_of_two_at_once_one_is_created(herding: Herding) -> None:
    outcomes: list[str] = []
    barrier = threading.Barrier(2)

    def create() -> None:
        barrier.wait()
        try:
            herding.herder.create("twice", config("twice"))
            outcomes.append("created")
        except ConflictError as error:
            outcomes.append(str(error))

    threads = [threading.Thread(target=create) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(outcomes) == [
        "There is a connector twice already: choose another name",
        "created",
    ]


@pytest.mark.parametrize(
    ("state", "tasks"), [("PAUSED", []), ("STOPPED", []), ("RUNNING", ["RUNNING"])]
)
def test_a_connector_begins_in_its_initial_state(
    herding: Herding, state: str, tasks: list[str]
) -> None:
    name = f"initially-{state.lower()}"
    herding.herder.create(name, config(name), state)
    herding.wait_for_state(name, state, tasks)
    assert (f"run {name}" in herding.engine.calls) == (state == "RUNNING")


def test_pause_resume_stop_and_resume(herding: Herding) -> None:
    herder = herding.herder
    running(herding, "moody")
    herder.pause("moody")
    herding.wait_for_state("moody", "PAUSED")
    herder.resume("moody")
    herding.wait_for_state("moody", "RUNNING")
    herder.stop("moody")
    herding.wait_for_state("moody", "STOPPED", [])
    assert herder.tasks("moody") == []
    herder.resume("moody")
    herding.wait_for_state("moody", "RUNNING")
    assert len(herder.tasks("moody")) == 1
    assert [each for each in herding.engine.calls if each.endswith("moody")] == [
        "run moody",
        "pause moody",
        "run moody",
        "stop moody",
        "run moody",
    ]


def busy_with(herding: Herding, name: str, target: TargetState) -> None:
    """Let the supervisor stop a connector, which takes its time, and in the same turn give ``name``
    a target state.
    """
    blocking = f"blocks-{name}"
    running(herding, blocking)
    herding.engine.may_stop.clear()
    herding.worker._configs.write(
        [target_state(blocking, TargetState.STOPPED), target_state(name, target)]
    )
    herding.worker._supervisor.wake()
    herding.wait(lambda: blocking in herding.engine.stopping)


def test_a_connector_that_is_resumed_before_it_was_stopped_runs(herding: Herding) -> None:
    running(herding, "resumed")
    busy_with(herding, "resumed", TargetState.STOPPED)
    herding.herder.resume("resumed")
    herding.engine.may_stop.set()
    herding.wait_for_state("blocks-resumed", "STOPPED", [])
    # The turn after that one has also come.
    running(herding, "after-resumed")
    assert "resumed" in herding.engine.running()
    assert herding.herder.status("resumed")["connector"]["state"] == "RUNNING"


def test_a_connector_that_is_stopped_before_it_was_started_does_not_run(herding: Herding) -> None:
    running(herding, "halted")
    herding.herder.stop("halted")
    herding.wait_for_state("halted", "STOPPED", [])
    busy_with(herding, "halted", TargetState.STARTED)
    herding.herder.stop("halted")
    herding.engine.may_stop.set()
    herding.wait_for_state("blocks-halted", "STOPPED", [])
    running(herding, "after-halted")
    assert "halted" not in herding.engine.running()
    assert herding.herder.status("halted")["connector"]["state"] == "STOPPED"
    # Its offsets can change.
    assert herding.worker._supervisor.wait_until_stopped("halted", 0)


@pytest.mark.parametrize("state", ["STOPPED", "PAUSED"])
def test_a_connector_stops_before_its_state_can_be_stored_which_is_reported_later(
    herding: Herding, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    name = f"unlucky-{state.lower()}"
    running(herding, name)
    write, refused = herding.worker._configs.write, threading.Event()

    def refuse_at_first(records: Any) -> None:
        is_ours = threading.current_thread().name == "connect-supervisor"
        if is_ours and (not refused.is_set() or name in herding.engine.running()):
            refused.set()
            raise ApiError(ErrorCode.NOT_ENOUGH_REPLICAS, "not now")
        write(records)

    monkeypatch.setattr(herding.worker._configs, "write", refuse_at_first)
    # By another worker, which leaves the tasks to the active one; with another configuration.
    write(
        [
            connector_config(name, config(name, x="2")),
            target_state(name, TargetState(state)),
        ]
    )
    herding.worker._supervisor.wake()
    herding.wait_for_state(name, state, [] if state == "STOPPED" else ["PAUSED"])
    assert refused.is_set()
    assert len(herding.herder.tasks(name)) == (state == "PAUSED")


def test_a_new_configuration_is_run(herding: Herding) -> None:
    created, _ = herding.herder.put_config("changing", config("changing", x="1", y="1"))
    assert created
    herding.wait_for_state("changing", "RUNNING")
    created, info = herding.herder.put_config("changing", config("changing", x="2", y="1"))
    assert not created
    assert info["config"]["x"] == "2"
    herding.wait(lambda: herding.engine.specs["changing"].config.get("x") == "2")
    answer = herding.herder.patch_config("changing", {"x": "3", "y": None})
    assert answer["config"] == config("changing", x="3")
    herding.wait(lambda: herding.engine.specs["changing"].config == config("changing", x="3"))
    assert herding.herder.tasks("changing")[0]["config"]["x"] == "3"


def test_a_deleted_connector_leaves_nothing(broker: RunningBroker, herding: Herding) -> None:
    running(herding, "gone")
    herding.engine.listener.on_topic("gone", "orders")
    herding.herder.delete("gone")
    herding.wait(lambda: "stop gone" in herding.engine.calls)
    herding.wait(lambda: "gone" not in herding.worker._statuses.snapshot().connectors)
    with pytest.raises(NotFoundError, match="no status of connector gone"):
        herding.herder.status("gone")
    with pytest.raises(NotFoundError, match="There is no connector gone"):
        herding.herder.config("gone")
    # A late word of the engine does not bring it back.
    herding.engine.listener.on_status("gone", 0, State.FAILED, "too late")
    assert herding.worker._statuses.flush(5)
    last = dict(keys_and_values(broker, "shared-status"))
    assert last["status-connector-gone"] is None
    assert last["status-task-gone-0"] is None
    assert last["status-topic-orders:connector-gone"] is None


def test_a_failed_task_stays_failed_until_it_is_restarted(herding: Herding) -> None:
    herding.engine.failing["broken"] = "Traceback: it broke"
    herding.herder.create("broken", config("broken"))
    herding.wait_for_state("broken", "RUNNING", ["FAILED"])
    assert herding.herder.task_status("broken", 0)["trace"] == "Traceback: it broke"
    del herding.engine.failing["broken"]
    # The connector itself has not failed: nothing to do.
    assert herding.herder.restart("broken", include_tasks=False, only_failed=False) is None
    answer = herding.herder.restart("broken", include_tasks=True, only_failed=True)
    assert answer is not None
    assert answer["connector"]["state"] == "RUNNING"
    assert [each["state"] for each in answer["tasks"]] == ["RESTARTING"]
    herding.wait_for_state("broken", "RUNNING")


def test_only_what_failed_is_restarted_if_that_is_asked_for(herding: Herding) -> None:
    running(herding, "sound")
    before = list(herding.engine.calls)
    answer = herding.herder.restart("sound", include_tasks=True, only_failed=True)
    assert answer is not None
    assert [each["state"] for each in answer["tasks"]] == ["RUNNING"]
    herding.herder.pause("sound")
    herding.wait_for_state("sound", "PAUSED")
    assert herding.engine.calls == [*before, "pause sound"]


def test_a_task_is_restarted(herding: Herding) -> None:
    running(herding, "again")
    herding.herder.restart_task("again", 0)
    calls = ["run again", "stop again", "run again"]
    herding.wait(lambda: [each for each in herding.engine.calls if each.endswith("again")] == calls)
    with pytest.raises(NotFoundError, match="There is no task again-1"):
        herding.herder.restart_task("again", 1)


@pytest.mark.parametrize(
    "question",
    [
        lambda herder: herder.connector_info("nobody"),
        lambda herder: herder.tasks("nobody"),
        lambda herder: herder.status("nobody"),
        lambda herder: herder.task_status("nobody", 0),
        lambda herder: herder.offsets("nobody"),
        lambda herder: herder.pause("nobody"),
        lambda herder: herder.resume("nobody"),
        lambda herder: herder.stop("nobody"),
        lambda herder: herder.delete("nobody"),
        lambda herder: herder.patch_config("nobody", {}),
        lambda herder: herder.restart("nobody", include_tasks=True, only_failed=False),
        lambda herder: herder.restart_task("nobody", 0),
        lambda herder: herder.alter_offsets("nobody", [{}]),
        lambda herder: herder.reset_offsets("nobody"),
    ],
)
def test_an_unknown_connector_is_not_found(
    herding: Herding, question: Callable[[Any], object]
) -> None:
    with pytest.raises(NotFoundError, match="nobody"):
        question(herding.herder)


def test_an_invalid_configuration_is_refused_with_all_errors(herding: Herding) -> None:
    with pytest.raises(BadRequestError, match=r"1 error\(s\):\nwrong is wrong: yes\n"):
        herding.herder.create("bad", config("bad", wrong="yes"))
    assert "bad" not in herding.herder.connectors()
    with pytest.raises(BadRequestError, match="config is for other, the URL for bad"):
        herding.herder.create("bad", config("other"))
    with pytest.raises(BadRequestError, match="'SLEEPING' is unknown"):
        herding.herder.create("bad", config("bad"), "SLEEPING")


def test_topics_are_noted_once_and_can_be_reset(herding: Herding) -> None:
    running(herding, "topical")
    for topic in ("orders", "clicks", "orders"):
        herding.engine.listener.on_topic("topical", topic)
    herding.wait(
        lambda: herding.herder.topics("topical") == {"topical": {"topics": ["clicks", "orders"]}}
    )
    herding.herder.reset_topics("topical")
    assert herding.herder.topics("topical") == {"topical": {"topics": []}}


class Joining:
    """A membership that becomes clear while somebody asks."""

    def __init__(self, found: Membership) -> None:
        self._found = found
        self.asked = 0

    @property
    def standing(self) -> Standing | None:
        return None if self.asked < 3 else self._found.standing

    def is_active(self) -> bool:
        self.asked += 1
        return self.asked >= 3 and self._found.is_active()


def test_a_request_waits_until_the_worker_has_joined_its_group(
    herding: Herding, monkeypatch: pytest.MonkeyPatch
) -> None:
    joining = Joining(herding.herder._membership)
    monkeypatch.setattr(herding.herder, "_membership", joining)
    running(herding, "early")
    assert joining.asked >= 3


def test_the_level_of_a_logger_reaches_the_workers(herding: Herding) -> None:
    herding.herder.set_cluster_log_level("moldau.connect", "DEBUG")
    herding.wait(lambda: ("moldau.connect", "DEBUG") in herding.levels)


def test_secrets_reach_the_engine_and_nothing_else(
    broker: RunningBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    secrets = tmp_path / "db.properties"
    secrets.write_text("password=correct-horse\nworker=battery-staple\n")
    reference = f"${{file:{secrets}:password}}"
    package = "org.apache.kafka.common.config.provider"
    settings = {
        "config.providers": "file",
        "config.providers.file.class": f"{package}.FileConfigProvider",
        "producer.ssl.truststore.password": f"${{file:{secrets}:worker}}",
    }
    herding = Herding(broker.bootstrap, "secrets", settings=settings).start()
    herder = herding.herder
    herding.engine.failing["safe"] = "login with correct-horse failed at battery-staple"
    try:
        herder.create("safe", config("safe", password=reference))
        herding.wait_for_state("safe", "RUNNING", ["FAILED"])
        assert herding.engine.specs["safe"].config["password"] == "correct-horse"
        assert herding.engine.specs["safe"].secrets == {
            "correct-horse": reference,
            "battery-staple": f"${{file:{secrets}:worker}}",
        }
        validated = herder.validate(SINK, config("safe", password=reference, wrong=reference))
        with pytest.raises(BadRequestError) as refused:
            herder.create("unsafe", config("unsafe", wrong=reference))
        answers = repr(
            [
                herder.connector_info("safe"),
                herder.config("safe"),
                herder.tasks("safe"),
                herder.status("safe"),
                validated,
                str(refused.value),
                herding.engine.specs["safe"],
            ]
        )
        assert "correct-horse" not in answers
        assert "battery-staple" not in answers
        assert answers.count(reference) >= 6
        topics = [keys_and_values(broker, f"secrets-{each}") for each in ("config", "status")]
        assert "correct-horse" not in repr(topics)
        assert "correct-horse" not in caplog.text
        # A file that is not there any more fails the connector, and says so.
        secrets.unlink()
        herder.restart("safe", include_tasks=True, only_failed=False)
        herding.wait_for_state("safe", "FAILED")
        assert "db.properties cannot be read" in herder.status("safe")["connector"]["trace"]
    finally:
        herding.stop()


def test_an_offsets_topic_of_ones_own_is_refused(herding: Herding) -> None:
    own = {"offsets.storage.topic": "mine"}
    with pytest.raises(BadRequestError, match=r"offsets.storage.topic=mine is not supported"):
        herding.herder.create("own", {**config("own", SOURCE), **own})
    same = {"offsets.storage.topic": "shared-offset"}
    herding.herder.create("own", {**config("own", SOURCE), **same})


def test_an_option_without_a_value_is_left_out(broker: RunningBroker, herding: Herding) -> None:
    with Producer(broker.bootstrap) as producer:
        value = json.dumps({"properties": {**config("null"), "x": None}}).encode()
        producer.send("shared-config", value, key=b"connector-null")
    herding.wait_for_state("null", "RUNNING")
    assert herding.engine.specs["null"].config == config("null")


def test_connectors_go_on_after_a_restart_of_the_worker(broker: RunningBroker) -> None:
    first = Herding(broker.bootstrap, "restarted").start()
    for name, state in (("a", "RUNNING"), ("b", "PAUSED"), ("c", "STOPPED")):
        first.herder.create(name, config(name), state)
    first.wait_for_state("c", "STOPPED", [])
    first.wait_for_state("a", "RUNNING")
    first.stop()
    assert dict(keys_and_values(broker, "restarted-status"))["status-connector-a"] == (
        b'{"state":"UNASSIGNED","trace":null,"worker_id":"127.0.0.1:8083","generation":1,'
        b'"version":"1.2"}'
    )
    second = Herding(broker.bootstrap, "restarted", port=8084).start()
    second.wait(lambda: second.herder.status("a")["connector"]["worker_id"] == "127.0.0.1:8084")
    second.wait_for_state("a", "RUNNING")
    second.wait_for_state("b", "PAUSED", [])
    second.wait_for_state("c", "STOPPED", [])
    assert [each for each in second.engine.calls if each.startswith("run")] == ["run a"]
    second.stop()


def test_tasks_of_an_earlier_generation_cannot_commit(broker: RunningBroker) -> None:
    settings = {"exactly.once.source.support": "enabled"}
    worker = Herding(broker.bootstrap, "exact", settings=settings).start()
    worker.herder.create("spring", config("spring", SOURCE), "STOPPED")
    worker.wait_for_state("spring", "STOPPED", [])
    # As if a worker of Apache's had run it in three tasks.
    with Producer(broker.bootstrap) as producer:
        producer.send("exact-config", b'{"task-count":3}', key=b"tasks-fencing-spring")
    zombie = Producer(broker.bootstrap, transactional_id="exact-group-spring-2")
    zombie.begin_transaction()
    zombie.send("exact-offset", b"{}", key=b'["spring",{}]')
    zombie.flush()
    worker.herder.resume("spring")
    worker.wait_for_state("spring", "RUNNING")
    with pytest.raises(ApiError) as refused:
        zombie.commit_transaction()
    assert refused.value.code in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
    zombie.close()
    assert worker.herder.offsets("spring") == {"offsets": []}
    last = dict(keys_and_values(broker, "exact-config"))
    assert last["tasks-fencing-spring"] == b'{"task-count":1}'
    worker.stop()


def test_a_standby_forwards_changes_answers_questions_and_takes_over(
    broker: RunningBroker,
) -> None:
    first = Herding(broker.bootstrap, "pair", port=8083, settings=SHORT_SESSION).start()
    second = Herding(broker.bootstrap, "pair", port=8084, settings=SHORT_SESSION).start()
    running(first, "shared")
    second.wait_for_state("shared", "RUNNING")
    assert second.herder.connectors() == ["shared"]
    with pytest.raises(Forward) as forward:
        second.herder.pause("shared")
    assert forward.value.url == "http://127.0.0.1:8083/"
    assert "run shared" not in second.engine.calls
    released = first.fall_silent()
    second.wait(lambda: "run shared" in second.engine.calls)
    second.wait(
        lambda: second.herder.status("shared")["connector"]["worker_id"] == "127.0.0.1:8084"
    )
    second.herder.pause("shared")
    second.wait_for_state("shared", "PAUSED")
    # The other one had stopped before.
    assert first.engine.calls[-1] == "stop shared"
    released.set()
    # It comes back, and stands by.
    first.wait(first.is_healthy)
    with pytest.raises(Forward):
        first.herder.resume("shared")
    assert first.engine.calls[-1] == "stop shared"
    first.stop()
    second.stop()


def test_a_worker_without_brokers_says_so_and_ends() -> None:
    herding = Herding("127.0.0.1:1", "nowhere", settings={"default.api.timeout.ms": "300"})
    herding.worker.start()
    ready, message = herding.herder.health()
    assert not ready
    assert "This worker is starting" in message
    ended = r"bootstrap.servers=127.0.0.1:1 could be reached.*moldau start"
    with pytest.raises(Exception, match=ended):
        herding.worker.wait()
    herding.stop()


@pytest.mark.parametrize("topic", ["config", "offset", "status"])
def test_a_worker_whose_topic_is_not_compacted_says_so_and_ends(
    broker: RunningBroker, topic: str
) -> None:
    herding = Herding(broker.bootstrap, f"plain-{topic}")
    name = herding.worker.config.topic(topic).name
    with Admin(broker.bootstrap) as admin:
        admin.create_topic(name, 1, 1)
    herding.worker.start()
    said = rf"{name} of {topic}.storage.topic has cleanup.policy=delete.*compact"
    with pytest.raises(Exception, match=said):
        herding.worker.wait()
    herding.stop()
