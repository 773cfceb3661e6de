"""``/connector-plugins``: what can be configured, and whether a config is valid."""

from moldau.connect.config.errors import ConfigError
from moldau.connect.config.validation import plugin_options
from moldau.connect.config.version_range import parse_range
from moldau.connect.herder_api import Herder
from moldau.connect.plugins import Plugins, UnknownPluginError
from moldau.connect.rest.messages import Request, Response
from moldau.connect.rest.routing import Route
from moldau.connect.rest_errors import BadRequestError, NotFoundError


class ConnectorPlugins:
    """The resource."""

    def __init__(self, herder: Herder, plugins: Plugins) -> None:
        self._herder = herder
        self._plugins = plugins

    def routes(self) -> list[Route]:
        one = "/connector-plugins/{plugin}"
        return [
            Route("GET", "/connector-plugins", self.list_plugins),
            Route("GET", f"{one}/config", self.options),
            Route("PUT", f"{one}/config/validate", self.validate),
        ]

    def list_plugins(self, request: Request) -> Response:
        return Response(200, self._plugins.list(request.flag("connectorsOnly", default=True)))

    def options(self, request: Request) -> Response:
        name, version = request["plugin"], request.first("version")
        try:
            parse_range(version)
        except ConfigError as error:
            raise BadRequestError(str(error)) from None
        try:
            return Response(200, plugin_options(self._plugins, name, version))
        except UnknownPluginError as error:
            hint = str(error).partition(" Did you mean ")[2]
            message = f"Unknown plugin {name}."
            raise NotFoundError(f"{message} Did you mean {hint}" if hint else message) from None
        except ConfigError as error:
            raise BadRequestError(str(error)) from None

    def validate(self, request: Request) -> Response:
        config = request.texts()
        name = request["plugin"]
        included = config.get("connector.class")
        if included is not None and not _short(included).endswith(_short(name)):
            message = f"The URL names {name}, but connector.class is {included}: use one of them"
            raise BadRequestError(message)
        # A null is no value: as if the option were left out.
        given = {key: value for key, value in config.items() if value is not None}
        return Response(200, self._herder.validate(name, given))


def _short(name: str) -> str:
    """The name without the usual ending: FileStreamSource of FileStreamSourceConnector."""
    suffix = "Connector"
    return name.removesuffix(suffix) if len(name) > len(suffix) else name
