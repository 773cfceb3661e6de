"""What the leader of a group of workers tells the others."""

import pytest

from moldau.connect.membership.standing import (
    Standing,
    decode_assignment,
    encode_assignment,
    encode_member,
)

MEMBERS = [("a", encode_member("http://a:8083/")), ("b", encode_member("http://b:8083/"))]


def test_the_leader_is_the_active_worker_and_the_others_know_where_it_is() -> None:
    told = encode_assignment("b", MEMBERS)
    assert decode_assignment(told, 7, "b") == Standing(7, "b", True, "http://b:8083/")
    assert decode_assignment(told, 7, "a") == Standing(7, "a", False, "http://b:8083/")


def test_a_leader_must_be_a_member() -> None:
    with pytest.raises(ValueError, match="c is not a member"):
        encode_assignment("c", MEMBERS)
