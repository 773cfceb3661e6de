"""Security errors, which retrying cannot fix."""

from moldau.errors import ApiError


class SecurityError(ApiError):
    """The TLS handshake or the login failed, or a file of the settings cannot be used."""
