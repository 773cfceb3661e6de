"""Keeps tasks of an earlier generation from committing transactions (KIP-618).

A worker of Apache's may have run a source in several tasks, each with a transactional id of its
own. The task that runs here takes over the first of these ids by using it; the others are taken
over here and never used. What they had not committed is aborted, and their producers cannot write
any more.
"""

from moldau.client.producer import Producer
from moldau.connect.stores.topic_log import ClientSettings


def ids_to_fence(group_id: str, connector: str, task_count: int) -> list[str]:
    """The transactional ids of all tasks but the first."""
    return [f"{group_id}-{connector}-{number}" for number in range(1, task_count)]


def fence(clients: ClientSettings, transactional_ids: list[str]) -> None:
    """Take over transactional ids.

    Raises:
        ApiError, ConnectionFailed: it is not certain that they are fenced.
    """
    for each in transactional_ids:
        producer = Producer(
            clients.bootstrap,
            client_id=clients.client_id,
            timeout_s=clients.timeout_s,
            security=clients.security,
            transactional_id=each,
        )
        try:
            # The first transaction of a producer takes the id over.
            producer.begin_transaction()
            producer.abort_transaction()
        finally:
            producer.close()
