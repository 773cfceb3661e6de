"""Writes an image as the shortest list of records that recreates it.

Features come first, and metadata.version before all others, because it determines how the rest
is read. Everything else keeps the order of the image: replaying a snapshot and taking it again
gives the same records.
"""

from collections.abc import Iterator

from moldau.metadata.features import METADATA_VERSION
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.records.metadata import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    EntityData,
    FeatureLevelRecord,
    ProducerIdsRecord,
    TopicRecord,
    UserScramCredentialRecord,
)


def snapshot_records(image: MetadataImage) -> Iterator[Message]:
    """Records that turn an empty image into ``image``."""
    yield from _features(image)
    for broker in image.brokers.values():
        yield broker.to_record()
    for controller in image.controllers.values():
        yield controller.to_record()
    for topic in image.topics_by_id.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for partition, registration in topic.partitions.items():
            yield registration.to_record(topic.id, partition)
    for resource, settings in image.configs.items():
        for name, value in settings.items():
            yield ConfigRecord(
                resource_type=resource.type, resource_name=resource.name, name=name, value=value
            )
    yield from _client_quotas(image)
    if image.next_producer_id >= 0:
        yield ProducerIdsRecord(
            broker_id=-1, broker_epoch=-1, next_producer_id=image.next_producer_id
        )
    yield from _security(image)


def _features(image: MetadataImage) -> Iterator[Message]:
    if image.metadata_version >= 0:
        yield FeatureLevelRecord(name=METADATA_VERSION, feature_level=image.metadata_version)
    for name, level in image.features.items():
        if name != METADATA_VERSION:
            yield FeatureLevelRecord(name=name, feature_level=level)


def _client_quotas(image: MetadataImage) -> Iterator[Message]:
    for entity, quotas in image.client_quotas.items():
        for key, value in quotas.items():
            yield ClientQuotaRecord(
                entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
                key=key,
                value=value,
                remove=False,
            )


def _security(image: MetadataImage) -> Iterator[Message]:
    for acl_id, acl in image.acls.items():
        yield AccessControlEntryRecord(
            id=acl_id,
            resource_type=acl.resource_type,
            resource_name=acl.resource_name,
            pattern_type=acl.pattern_type,
            principal=acl.principal,
            host=acl.host,
            operation=acl.operation,
            permission_type=acl.permission_type,
        )
    for (mechanism, name), credential in image.scram.items():
        yield UserScramCredentialRecord(
            name=name,
            mechanism=mechanism,
            salt=credential.salt,
            stored_key=credential.stored_key,
            server_key=credential.server_key,
            iterations=credential.iterations,
        )
    for token_id, token in image.delegation_tokens.items():
        yield DelegationTokenRecord(
            owner=token.owner,
            requester=token.requester,
            renewers=list(token.renewers),
            issue_timestamp=token.issue_timestamp,
            max_timestamp=token.max_timestamp,
            expiration_timestamp=token.expiration_timestamp,
            token_id=token_id,
        )
