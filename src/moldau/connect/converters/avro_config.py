"""The options of the Avro converter, with the names of Confluent's."""

from moldau.connect.config.definition import ConfigDef, Importance, Type
from moldau.connect.converters.base import converter_config

URL = "schema.registry.url"
AUTO_REGISTER = "auto.register.schemas"
USE_LATEST = "use.latest.version"
METADATA = "connect.meta.data"
ENHANCED = "enhanced.avro.schema.support"
CACHE_SIZE = "schemas.cache.config"
KEY_STRATEGY = "key.subject.name.strategy"
VALUE_STRATEGY = "value.subject.name.strategy"
TOPIC_NAME = "io.confluent.kafka.serializers.subject.TopicNameStrategy"
RECORD_NAME = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
TOPIC_RECORD_NAME = "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"
STRATEGIES = (TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME)


def avro_config() -> ConfigDef:
    config = converter_config()
    config.define(
        URL,
        Type.LIST,
        importance=Importance.HIGH,
        doc="URLs of the schema registry, with commas between them; the first that can be reached "
        "answers.",
    )
    config.define(
        AUTO_REGISTER,
        Type.BOOLEAN,
        True,
        importance=Importance.MEDIUM,
        doc="Whether a schema that the registry does not have yet is registered. If not, it must "
        "be there, and a record with another one is refused.",
    )
    config.define(
        USE_LATEST,
        Type.BOOLEAN,
        False,
        importance=Importance.LOW,
        doc="Whether records are written with the latest schema of the subject, instead of their "
        "own. Only if auto.register.schemas is false.",
    )
    config.define(
        METADATA,
        Type.BOOLEAN,
        True,
        importance=Importance.LOW,
        doc="Whether names, versions, docs and parameters of Connect's schemas are kept in "
        "properties of Avro's.",
    )
    config.define(
        ENHANCED,
        Type.BOOLEAN,
        False,
        importance=Importance.MEDIUM,
        doc="Whether enums stay enums, and the fields of unions have the full names of records.",
    )
    config.define(
        CACHE_SIZE,
        Type.INT,
        1000,
        importance=Importance.LOW,
        doc="How many schemas are kept.",
    )
    for name, what in ((KEY_STRATEGY, "keys"), (VALUE_STRATEGY, "values")):
        config.define(
            name,
            Type.STRING,
            TOPIC_NAME,
            importance=Importance.MEDIUM,
            doc=f"The subject under which schemas of {what} are registered, by the class name of "
            "TopicNameStrategy, RecordNameStrategy or TopicRecordNameStrategy.",
        )
    return _with_authentication(config)


def _with_authentication(config: ConfigDef) -> ConfigDef:
    for prefix in ("", "schema.registry."):
        config.define(
            f"{prefix}basic.auth.credentials.source",
            Type.STRING,
            "URL",
            importance=Importance.MEDIUM,
            doc="Where the user and the password are: URL, or USER_INFO for basic.auth.user.info.",
        )
        config.define(
            f"{prefix}basic.auth.user.info",
            Type.PASSWORD,
            "",
            importance=Importance.MEDIUM,
            doc="The user and the password: user:password.",
        )
    config.define(
        "bearer.auth.token",
        Type.PASSWORD,
        "",
        importance=Importance.MEDIUM,
        doc="A token that is sent instead of a user and a password.",
    )
    for name, doc in (
        ("location", "A file of certificates that are trusted, in PEM."),
        ("certificates", "Certificates that are trusted, in PEM."),
        ("type", "The format of the trust store; only PEM is supported."),
    ):
        config.define(
            f"schema.registry.ssl.truststore.{name}",
            Type.STRING,
            None,
            importance=Importance.LOW,
            doc=doc,
        )
    return config
