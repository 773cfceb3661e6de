"""Files in a bucket of S3, or of a store that speaks its protocol.

An object appears whole, by one PUT. There is no rename: a file is moved by a copy within the store
and the removal of its source. What decides between two workers is a conditional PUT (``If-Match``
with the tag of the object that was read, or ``If-None-Match`` where there was none); a store that
ignores the condition is refused at the start.

Tasks collect a file on their own disk and send it when it is complete, in parts if it is large: an
upload that a crash interrupts is never visible (a lifecycle rule of the bucket removes its parts).
"""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import ObjectStore, from_url

from moldau.connect.connectors.lake.storage import Move, NewFile, Storage, Stored
from moldau.connect.connectors.lake.store_errors import store_error
from moldau.connect.data.errors import ConnectError, RetriableError

OPTIONS: Final = "storage."
# Options of the connection, which obstore takes apart from those of the store.
_CLIENT: Final = (
    "allow_http",
    "allow_invalid_certificates",
    "connect_timeout",
    "http1_only",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "proxy_ca_certificate",
    "proxy_excludes",
    "proxy_url",
    "root_certificate",
    "timeout",
    "user_agent",
)
# The engine tries longer, and says so meanwhile.
_RETRIES: Final = 3
# Nearly every footer is shorter, so one request gets it.
_TAIL: Final = 64 * 1024
_NO_ETAG: Final = '"00000000000000000000000000000000"'


class Bucket(Storage):
    """A bucket, or the part of it below a prefix.

    Raises:
        ConnectError: the options are none of an object store.
    """

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        self.root = url.rstrip("/")
        config, client = _split(options)
        try:
            self._store: ObjectStore = from_url(
                self.root,
                config=config,
                client_options=client,
                retry_config={"max_retries": _RETRIES},
            )
        except (BaseError, ValueError, TypeError) as error:
            raise ConnectError(
                f"path={url} with the options below {OPTIONS}: {_first_line(error)}"
            ) from None

    def check(self) -> None:
        with self.errors():
            next(iter(self._store.list(chunk_size=1)), None)

    def check_conditions(self, path: str) -> None:
        """Try to replace an object by itself with a condition that is not met."""
        found = self.read(path)
        if found is not None and self.replace(path, found.text, Stored(found.text, _NO_ETAG)):
            raise ConnectError(
                f"path={self.root}: this store ignores If-Match, so two workers could write the "
                "same records. Use a store with conditional PUT, or DeltaSink or IcebergSink"
            )

    def read(self, path: str) -> Stored | None:
        try:
            answer = self._store.get(path)
        except FileNotFoundError as error:
            _require_bucket(error)
            return None
        return Stored(bytes(answer.bytes()).decode(), str(answer.meta["e_tag"]))

    def replace(self, path: str, text: str, expected: Stored | None) -> bool:
        try:
            self._store.put(
                path,
                text.encode(),
                mode="create" if expected is None else {"e_tag": expected.version},
            )
        except (AlreadyExistsError, PreconditionError):
            return False
        except FileNotFoundError as error:
            # The object that is expected has gone.
            _require_bucket(error)
            return False
        return True

    def create(self, path: str) -> NewFile:
        return _Upload(self._store, path)

    def exists(self, path: str) -> bool:
        try:
            self._store.head(path)
        except FileNotFoundError:
            return False
        return True

    def move(self, moves: list[Move]) -> None:
        for move in moves:
            # The source decides what the target holds, so it does not matter who copies it.
            with contextlib.suppress(FileNotFoundError):
                self._store.copy(move.source, move.target)
            self.remove(move.source)

    def remove(self, path: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._store.delete(path)

    def files(self, folder: str) -> list[str]:
        found = self._store.list(folder or None)
        return sorted(each["path"] for several in found for each in several)

    def footer(self, path: str) -> pq.FileMetaData:
        size = self._store.head(path)["size"]
        tail = self._tail(path, size, _TAIL)
        # The length of the metadata, and Parquet's four letters.
        length = int.from_bytes(tail[-8:-4], "little") + 8
        if length > len(tail):
            tail = self._tail(path, size, length)
        return pq.read_metadata(pa.BufferReader(tail))

    def _tail(self, path: str, size: int, length: int) -> bytes:
        return bytes(self._store.get_range(path, start=max(0, size - length), end=size))

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        try:
            yield
        except (BaseError, OSError) as error:
            refusal = store_error(error, f"path={self.root}", OPTIONS)
            raise refusal or RetriableError(f"{self.root}: {_first_line(error)}") from None


class _Upload(NewFile):
    def __init__(self, store: ObjectStore, path: str) -> None:
        self._store = store
        self._path = path
        self._is_sent = False
        self.stream = tempfile.TemporaryFile()  # noqa: SIM115 (finish or abort closes it)

    def finish(self) -> None:
        self.stream.seek(0)
        self._is_sent = True
        self._store.put(self._path, self.stream)
        self.stream.close()

    def abort(self) -> None:
        self.stream.close()
        # A request whose answer was lost may have been done.
        if self._is_sent:
            with contextlib.suppress(BaseError, OSError):
                self._store.delete(self._path)


def _split(options: Mapping[str, str]) -> tuple[Any, Any]:
    """The options of the store and of the client, both named as the Delta sink names them."""
    config, client = {}, {}
    for name, value in options.items():
        plain = name.lower().removeprefix("aws_")
        if plain in _CLIENT:
            client[plain] = value
        else:
            config[f"aws_{plain}"] = value
    return config, client


def _require_bucket(error: FileNotFoundError) -> None:
    """A missing object is an answer, a missing bucket is not."""
    if "NoSuchBucket" in str(error):
        raise error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
