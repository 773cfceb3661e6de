"""An S3 server of our own, on a free port of the loopback address: moto's, which keeps all in
memory and takes any credentials unless it is told to check them.
"""

import json
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import boto3
from obstore.store import S3Store
from tools.brokers import free_port

HOST = "127.0.0.1"
REGION = "us-east-1"
BUCKET = "lake"
_START_TIMEOUT_S = 120


class S3Server:
    """A running server with one bucket."""

    def __init__(self, port: int) -> None:
        self.url = f"http://{HOST}:{port}"
        self.key, self.secret = "test-key", "test-secret"
        self._request("PUT", f"/{BUCKET}")

    @property
    def options(self) -> dict[str, str]:
        """Those of the Parquet and the Delta sink."""
        return {
            "storage.aws_access_key_id": self.key,
            "storage.aws_secret_access_key": self.secret,
            "storage.aws_region": REGION,
            "storage.aws_endpoint_url": self.url,
            "storage.aws_allow_http": "true",
        }

    @property
    def delta_options(self) -> dict[str, str]:
        """As deltalake itself takes them."""
        return {name.removeprefix("storage."): value for name, value in self.options.items()}

    @property
    def iceberg_options(self) -> dict[str, str]:
        """As PyIceberg takes them, below the name of a catalog."""
        return {
            "s3.endpoint": self.url,
            "s3.access-key-id": self.key,
            "s3.secret-access-key": self.secret,
            "s3.region": REGION,
        }

    @property
    def store(self) -> S3Store:
        return S3Store(
            BUCKET,
            access_key_id=self.key,
            secret_access_key=self.secret,
            region=REGION,
            endpoint=self.url,
            client_options={"allow_http": True},
        )

    def paths(self, prefix: str) -> list[str]:
        return sorted(each["path"] for several in self.store.list(prefix) for each in several)

    @contextmanager
    def checking_credentials(self) -> Iterator[None]:
        """From here on only the key of one user is accepted; other keys are unknown."""
        iam = boto3.client(
            "iam",
            region_name=REGION,
            endpoint_url=self.url,
            aws_access_key_id="any",
            aws_secret_access_key="any",
        )
        user = f"moldau-{uuid.uuid4().hex}"
        iam.create_user(UserName=user)
        rights = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [rights]})
        iam.put_user_policy(UserName=user, PolicyName="all", PolicyDocument=policy)
        made = iam.create_access_key(UserName=user)["AccessKey"]
        before = self.key, self.secret
        self.key, self.secret = made["AccessKeyId"], made["SecretAccessKey"]
        self._request("POST", "/moto-api/reset-auth", b"0")
        try:
            yield
        finally:
            self.key, self.secret = before
            self._request("POST", "/moto-api/reset-auth", b"inf")

    def _request(self, method: str, path: str, body: bytes | None = None) -> None:
        urllib.request.urlopen(
            urllib.request.Request(
                self.url + path, body, {"Content-Type": "text/plain"}, method=method
            ),
            timeout=60,
        ).close()


@contextmanager
def running_s3() -> Iterator[S3Server]:
    """In a process of its own: deltalake keeps the lock of the interpreter while it waits."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(process, port)
        yield S3Server(port)
    finally:
        process.kill()
        process.wait()


def _wait_for(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline_s = time.monotonic() + _START_TIMEOUT_S
    while True:
        try:
            socket.create_connection((HOST, port)).close()
            return
        except ConnectionRefusedError:
            assert process.poll() is None, "the S3 server ended while it started"
            assert time.monotonic() < deadline_s, "the S3 server does not answer"
            time.sleep(0.1)
