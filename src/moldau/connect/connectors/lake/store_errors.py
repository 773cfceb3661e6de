"""What object stores refuse, in the words of three libraries: errors that retrying cannot fix."""

import re
from typing import Final

from moldau.connect.data.errors import ConnectError

_NO_BUCKET: Final = re.compile(r"NoSuchBucket|NO_SUCH_BUCKET")
_BUCKET: Final = re.compile(r"(?:<BucketName>|in bucket ')([^<']+)")
_REFUSED: Final = re.compile(
    r"AccessDenied|ACCESS_DENIED|InvalidAccessKeyId|INVALID_ACCESS_KEY_ID|SignatureDoesNotMatch|"
    r"SIGNATURE_DOES_NOT_MATCH|ExpiredToken|EXPIRED_TOKEN|403 Forbidden|401 Unauthorized"
)
_CODE: Final = re.compile(r"<Code>(\w+)</Code>")


def store_error(error: BaseException, what: str, options: str) -> ConnectError | None:
    """The error of a connector for ``error``; None if it is not one that only a person can fix.

    ``what`` is the file or table with its place, ``options`` the prefix of the store's options.
    """
    text = str(error)
    if _NO_BUCKET.search(text):
        bucket = _BUCKET.search(text)
        name = f"bucket {bucket[1]}" if bucket else "such bucket"
        return ConnectError(f"{what}: there is no {name}. Create it, or name another one")
    refused = _REFUSED.search(text)
    if refused is None:
        return None
    code = _CODE.search(text)
    return ConnectError(
        f"{what}: the object store refuses access ({code[1] if code else refused[0]}). Check the "
        f"credentials below {options} and their rights to get, put, list and delete objects"
    )
