"""The failure to trust each other, which no other try will mend."""

from moldau.errors import ApiError


class SecurityError(ApiError):
    """A broker and this client do not get on: a password, a certificate, a file of settings."""
