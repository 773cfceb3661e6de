"""SCRAM: the examples of its RFC, an independent server, and dishonest servers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.client.scram import HASHES, MAX_ITERATIONS, ScramClient, ScramError
from tests.client.scram_server import ScramServer

# RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def example() -> ScramClient:
    return ScramClient("SCRAM-SHA-256", "user", "pencil", NONCE)


def test_the_example_of_the_rfc_comes_out() -> None:
    client = example()
    assert client.client_first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert client.client_final(SERVER_FIRST) == CLIENT_FINAL
    client.verify(SERVER_FINAL)


@settings(max_examples=20, deadline=None)
@given(
    mechanism=st.sampled_from(sorted(HASHES)),
    user=st.text(min_size=1),
    password=st.text(min_size=1),
    salt=st.binary(min_size=1, max_size=40),
)
def test_whoever_knows_the_password_is_let_in_and_believes_the_server(
    mechanism: str, user: str, password: str, salt: bytes
) -> None:
    client = ScramClient(mechanism, user, password, NONCE)
    server = ScramServer(HASHES[mechanism], password, salt=salt)
    answer = server.final(client.client_final(server.first(client.client_first())))
    assert answer is not None
    client.verify(answer)
    assert server.user == user


@pytest.mark.parametrize("mechanism", sorted(HASHES))
def test_a_wrong_password_proves_nothing_to_the_server(mechanism: str) -> None:
    client = ScramClient(mechanism, "alice", "wrong", NONCE)
    server = ScramServer(HASHES[mechanism], "right")
    assert server.final(client.client_final(server.first(client.client_first()))) is None


def test_extensions_are_part_of_what_is_signed() -> None:
    client = ScramClient("SCRAM-SHA-256", "token", "hmac", NONCE, "tokenauth=true")
    assert client.client_first().endswith(b",tokenauth=true")
    server = ScramServer("sha256", "hmac")
    assert server.final(client.client_final(server.first(client.client_first()))) is not None


@pytest.mark.parametrize(
    ("server_first", "problem"),
    [
        (SERVER_FIRST.replace(b"rOpr", b"sOpr"), "nonce does not begin with ours"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=AAAA,i=4096", "nonce does not begin with ours"),
        (SERVER_FIRST.replace(b"4096", b"4095"), "asks for 4095 iterations"),
        (SERVER_FIRST.replace(b"4096", b"%d" % (MAX_ITERATIONS + 1)), "iterations"),
        (SERVER_FIRST.replace(b"i=4096", b"i=many"), "asks for many iterations"),
        (SERVER_FIRST.replace(b"s=W22Z", b"s=!!!!"), "s is not base64"),
        (b"", "nonce"),
        (b"\xff\xfe,=,", "nonce"),
    ],
)
def test_a_server_that_begins_wrong_is_not_followed(server_first: bytes, problem: str) -> None:
    with pytest.raises(ScramError, match=problem):
        example().client_final(server_first)


@pytest.mark.parametrize(
    ("server_final", "problem"),
    [
        (b"v=" + b"A" * 43 + b"=", "signature is wrong"),
        (b"v=", "signature is wrong"),
        (b"", "signature is wrong"),
        (b"v=%", "v is not base64"),
        (b"e=other-error", "reports other-error"),
    ],
)
def test_a_server_that_does_not_know_the_password_is_found_out(
    server_final: bytes, problem: str
) -> None:
    client = example()
    client.client_final(SERVER_FIRST)
    with pytest.raises(ScramError, match=problem):
        client.verify(server_final)


def test_no_signature_is_believed_before_ours_was_made() -> None:
    with pytest.raises(ScramError, match="signature is wrong"):
        example().verify(b"v=")


@given(st.binary(max_size=80))
def test_no_answer_of_a_server_breaks_the_client(answer: bytes) -> None:
    client = example()
    with pytest.raises(ScramError):
        client.client_final(answer)
    with pytest.raises(ScramError):
        client.verify(answer)
