"""What the fetches of a broker use."""

from moldau.broker.current_leaders import CurrentLeaders
from moldau.broker.dynamic_config import DynamicConfig
from moldau.broker.fetch_sessions import FetchSessionCache
from moldau.broker.read_replicas import ReadReplicas
from moldau.broker.replica_manager import ReplicaManager
from moldau.broker.replication_quota import ReplicationQuota
from moldau.clock import Clock
from moldau.network.turns import Turns


class FetchParts:
    """One for all fetches; ``quota`` is that of this broker as a leader."""

    def __init__(
        self,
        replicas: ReplicaManager,
        sessions: FetchSessionCache,
        configs: DynamicConfig,
        clock: Clock,
        turns: Turns,
        leaders: CurrentLeaders,
        read_replicas: ReadReplicas,
        quota: ReplicationQuota,
    ) -> None:
        self.quota = quota
        self.leaders = leaders
        self.read_replicas = read_replicas
        self.replicas = replicas
        self.sessions = sessions
        self.configs = configs
        self.clock = clock
        self.turns = turns
