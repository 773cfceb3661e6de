"""What a node says when it stops because it can no longer take part in the metadata quorum."""

from moldau.errors import ApiError, ErrorCode


def why_it_stops(error: BaseException, directory: str) -> str:
    """The reason, and what may help. ``directory`` is that of the metadata log."""
    is_storage = isinstance(error, ApiError) and error.code is ErrorCode.KAFKA_STORAGE_ERROR
    if is_storage or isinstance(error, OSError) or isinstance(error.__cause__, OSError):
        return metadata_dir_failed(directory, str(error))
    if isinstance(error, AssertionError):
        return (
            f"the nodes of the metadata quorum contradict each other: {error}. Look for a voter "
            "whose directory was formatted again or restored from an old copy, and for two nodes "
            "with one node.id"
        )
    return f"the metadata can no longer be changed: {error}"


def metadata_dir_failed(directory: str, reason: str) -> str:
    return (
        f"the metadata log directory {directory} has failed ({reason}). Repair the disk, or "
        "restore the directory, and start again"
    )
