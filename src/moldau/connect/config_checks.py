"""Checks configurations of connectors before they are stored, without showing their secrets.

Values of config providers are looked up for the checks. In what is answered, the references are
where the user wrote them, and in no message is there a value that was looked up.
"""

from collections.abc import Callable, Mapping

from moldau.connect.config.validation import problems_text
from moldau.connect.data.errors import ConnectError
from moldau.connect.herder_api import Json
from moldau.connect.providers import Providers, Resolved
from moldau.connect.request_time import REQUEST_TIMEOUT_S, in_time
from moldau.connect.rest_errors import BadRequestError

# The name of a class and a configuration with its references resolved, to the JSON of a validation.
Validate = Callable[[str, Mapping[str, str]], Json]


class ConfigChecks:
    """What a worker thinks of a configuration. ``offsets_topic`` is where its sources store theirs,
    None if that is a file."""

    def __init__(
        self,
        validate: Validate,
        providers: Providers,
        offsets_topic: str | None,
        timeout_s: float = REQUEST_TIMEOUT_S,
    ) -> None:
        self._validate = validate
        self._timeout_s = timeout_s
        self._providers = providers
        self._offsets_topic = offsets_topic

    def validate(self, class_name: str, config: Mapping[str, str]) -> Json:
        """As ``PUT /connector-plugins/{class_name}/config/validate`` answers.

        Raises:
            InternalError: the connector does not return in time. Its thread is left behind.
        """
        try:
            resolved = self._providers.resolve(config)
        except ConnectError as error:
            raise BadRequestError(str(error)) from error
        wanted = {"connector.class": class_name, **resolved.config}
        result = in_time(
            lambda: self._validate(class_name, wanted),
            f"{class_name} has been validating the configuration",
            self._timeout_s,
        )
        self._check_offsets_topic(result)
        return _without_secrets(result, config, resolved)

    def require_valid(self, config: Mapping[str, str]) -> None:
        """Raise BadRequestError with all that is wrong with a configuration."""
        if "connector.class" not in config:
            raise BadRequestError("connector.class is missing: name the class of the connector")
        problems = problems_text(self.validate(config["connector.class"], config))
        if problems is not None:
            raise BadRequestError(problems)

    def _check_offsets_topic(self, result: Json) -> None:
        """In Kafka, a source can have an offsets topic of its own; not here: say so."""
        common = self._offsets_topic
        for each in result["configs"]:
            value = each["value"]
            if value["name"] == "offsets.storage.topic" and value["value"] not in (None, common):
                where = f"topic {common}" if common else "the file of this worker"
                value["errors"].append(
                    f"offsets.storage.topic={value['value']} is not supported: the offsets of all "
                    f"sources are in {where}. Remove the option"
                )
                result["error_count"] += 1


def _without_secrets(result: Json, config: Mapping[str, str], resolved: Resolved) -> Json:
    """The result of a validation with references as they were written."""
    for each in result["configs"]:
        value = each["value"]
        name = value["name"]
        if name in config and resolved.config.get(name) != config[name]:
            value["value"] = config[name]
        value["errors"] = [resolved.hide(text) for text in value["errors"]]
    return result
