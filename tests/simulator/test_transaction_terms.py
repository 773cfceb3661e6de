"""A coordinator that hands over and leads again, in one life, while markers are on their way.

Numbers are those of Apache Kafka's issues.
"""

from moldau.errors import ErrorCode
from moldau.ids import TopicPartition
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from moldau.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from moldau.simulator.cluster import Topology
from moldau.simulator.machine import Machine
from moldau.transaction_coordinator.status import TransactionStatus
from tests.simulator.scenes import Scene, scene
from tests.simulator.test_transaction_completion import statuses
from tests.simulator.test_transaction_failover import (
    DATA,
    STATE,
    begin,
    create,
    id_of,
    is_leader,
    log_of,
)
from tests.simulator.test_transaction_scenarios import retriable_only
from tests.simulator.transacting import (
    NONE,
    REPLICATED,
    TIMEOUT_MS,
    V1,
    V2,
    Producer,
    committed,
    differences,
)

# Controllers are apart: whoever is cut off from a coordinator keeps its session.
BROKERS = Topology((1, 2, 3), (4, 5, 6), replicas=3)
_PREFERRED = 0


def begin_between(
    made: Scene, versions: tuple[int, int]
) -> tuple[Producer, Machine, Machine, Machine]:
    """A producer, its coordinator, another broker, and a third one, which leads its partition."""
    producer = begin(made, versions)
    first = producer.coordinator()
    second, leader = (each for each in brokers(made) if each is not first)
    create(made, DATA, leader)
    # One transaction opens the connections.
    write(producer, b"0", 0)
    producer.until_done(lambda: producer.end(is_commit=True))
    return producer, first, second, leader


def write(producer: Producer, value: bytes, sequence: int) -> None:
    """Write a record; with the first protocol, sequences go on from one transaction to the next."""
    if producer.versions == V1:
        producer.until_done(lambda: producer.add(DATA))
    else:
        sequence = 0
    producer.until_done(lambda: producer.produce(DATA, value, sequence))


def brokers(made: Scene) -> list[Machine]:
    return [each for each in made.machines if id_of(each) in BROKERS.brokers]


def hand_over(made: Scene, source: Machine, target: Machine) -> None:
    """Let another broker lead the partition of the coordinator; both go on."""
    reassign(made, STATE, target, *(each for each in brokers(made) if each is not target))
    elect(made, STATE, source, target)


def reassign(made: Scene, topic_partition: TopicPartition, *replicas: Machine) -> None:
    """The first one is preferred as the leader."""
    partition = ReassignablePartition(topic_partition.partition, [id_of(m) for m in replicas])
    topic = ReassignableTopic(topic_partition.topic, [partition])
    answer = ask(made, replicas[0], AlterPartitionReassignmentsRequest(topics=[topic]))
    assert isinstance(answer, AlterPartitionReassignmentsResponse)
    assert answer.responses[0].partitions[0].error_code == NONE, answer


def elect(
    made: Scene, topic_partition: TopicPartition, former: Machine, preferred: Machine
) -> None:
    chosen = [TopicPartitions(topic_partition.topic, [topic_partition.partition])]
    answer = ask(made, preferred, ElectLeadersRequest(_PREFERRED, chosen, TIMEOUT_MS))
    assert isinstance(answer, ElectLeadersResponse)
    assert answer.replica_election_results[0].partition_result[0].error_code == NONE, answer
    made.wait_until(
        lambda: is_leader(preferred, topic_partition) and not is_leader(former, topic_partition)
    )


def ask(made: Scene, machine: Machine, request: Message) -> Message:
    client = made.client("admin")
    address = next(each for each in made.cluster.addresses if each.host == machine.name)
    return made.ask(client.send(address, request, Message), client)


def write_and_lose_the_answer(
    made: Scene, producer: Producer, coordinator: Machine, leader: Machine
) -> None:
    """Commit; the marker is written, but the coordinator does not hear of it."""
    made.network.cut(leader.name, coordinator.name)
    producer.until_done(lambda: producer.end(is_commit=True))
    made.wait_until(lambda: log_of(leader, DATA).last_stable_offset == 4)


def test_18137_a_coordinator_that_leads_again_soon_knows_what_happened_meanwhile() -> None:
    """Another instance has taken over: the first one must not end what it began in the old term."""
    with scene(BROKERS, settings=REPLICATED) as made:
        producer, first, second, _ = begin_between(made, V1)
        write(producer, b"1", 1)
        hand_over(made, first, second)
        successor = Producer(made, versions=V1)
        successor.begin_anew()
        write(successor, b"2", 0)
        hand_over(made, second, first)
        producer.until_done(lambda: retriable_only(producer))
        assert producer.end(is_commit=True) == ErrorCode.PRODUCER_FENCED
        successor.until_done(lambda: successor.end(is_commit=True))
        assert successor.coordinator() is first
        assert committed(made, DATA) == [b"0", b"2"]
        assert differences(made, DATA) == []


def test_16352_the_markers_of_an_earlier_term_do_not_complete_the_next_transaction() -> None:
    """With the first protocol, the two transactions have the same producer id and epoch."""
    with scene(BROKERS, settings=REPLICATED) as made:
        producer, first, second, leader = begin_between(made, V1)
        write(producer, b"1", 1)
        write_and_lose_the_answer(made, producer, first, leader)
        hand_over(made, first, second)
        write(producer, b"2", 2)
        hand_over(made, second, first)
        # Now the answer arrives: what it is about has been completed by the other.
        made.network.mend(leader.name, first.name)
        made.run_for(3)
        assert statuses(first)[-1] == TransactionStatus.ONGOING
        hand_over(made, first, second)
        producer.until_done(lambda: producer.end(is_commit=True))
        assert committed(made, DATA) == [b"0", b"1", b"2"]
        assert differences(made, DATA) == []


def test_19999_a_marker_that_is_there_already_is_accepted_from_the_next_coordinator() -> None:
    """With the second protocol, the epoch of the marker is the one that the log has seen."""
    with scene(BROKERS, settings=REPLICATED) as made:
        producer, first, second, leader = begin_between(made, V2)
        write(producer, b"1", 1)
        write_and_lose_the_answer(made, producer, first, leader)
        hand_over(made, first, second)
        write(producer, b"2", 2)
        producer.until_done(lambda: producer.end(is_commit=True))
        made.network.mend(leader.name, first.name)
        assert committed(made, DATA) == [b"0", b"1", b"2"]
        assert differences(made, DATA) == []
