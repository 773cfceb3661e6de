"""What the commands have in common that administer a cluster: its address, and a client."""

import argparse
from typing import Any

from moldau.cli.command_parser import CommandParser, add_verb
from moldau.cli.output import add_bootstrap, security_of
from moldau.client.admin import Admin


def add_admin_verb(verbs: Any, name: str, meaning: str, action: Any) -> CommandParser:
    """Add a sub-command that talks to a cluster; ``options.action`` is ``action`` then."""
    parser = add_verb(verbs, name, meaning)
    add_bootstrap(parser)
    parser.set_defaults(action=action)
    return parser


def admin_of(options: argparse.Namespace) -> Admin:
    """A client of the cluster that the options name. Raises ValueError."""
    return Admin(
        options.bootstrap_server,
        timeout_s=options.request_timeout,
        security=security_of(options),
    )
