"""A digest of what the codec does with a fixed set of inputs: messages, mutants, errors.

Run as a program it prints the digest, and whether the modules were compiled or plain.
"""

import hashlib
import random


def digest() -> str:
    from moldau.protocol.header import decode_request_header
    from moldau.protocol.reading import MalformedMessage
    from tests.protocol.random_messages import every_version, message_class, random_message

    rng = random.Random(5)
    result = hashlib.sha256()
    for name, version in every_version():
        for _ in range(5):
            message = random_message(name, version, rng)
            encoded = message.encode(version)
            result.update(encoded)
            result.update(repr(message).encode())
            mutant = bytearray(encoded or b"\0")
            mutant[rng.randrange(len(mutant))] = rng.randrange(256)
            outcome = ""
            try:
                decoded, end = message_class(name).decode(bytes(mutant), 0, version)
                outcome = f"{decoded.encode(version).hex()} {end}"
            except MalformedMessage:
                outcome = "malformed"
            try:
                header, end = decode_request_header(bytes(mutant))
                outcome += f" {header} {end}"
            except MalformedMessage:
                outcome += " malformed"
            lower = rng.randrange(version + 1)
            try:
                outcome += message.encode(lower).hex()
            except ValueError as error:
                outcome += str(error)
            result.update(outcome.encode())
    return result.hexdigest()


if __name__ == "__main__":
    found = digest()
    from moldau.protocol import reading

    print(found, "plain" if str(reading.__file__).endswith(".py") else "compiled")
