"""The table of APIs agrees with the messages it points to."""

from moldau.protocol.api import APIS


def test_there_are_89_apis_in_302_versions() -> None:
    assert len(APIS) == 89
    assert sum(api.max_version - api.min_version + 1 for api in APIS.values()) == 302


def test_the_classes_of_an_api_carry_its_key_and_versions() -> None:
    for api in APIS.values():
        for found in (api.request_class(), api.response_class()):
            assert found.__name__.startswith(api.name)
            assert api.key == found.API_KEY
            assert api.min_version == found.MIN_VERSION
            assert api.max_version == found.MAX_VERSION
            assert api.first_flexible == found.FIRST_FLEXIBLE


def test_only_the_latest_version_of_init_producer_id_is_unstable() -> None:
    assert [api.name for api in APIS.values() if api.latest_unstable] == ["InitProducerId"]


def test_listeners_say_who_serves_an_api() -> None:
    assert APIS[0].listeners == ("broker",)
    assert "controller" in APIS[52].listeners


def test_sasl_handshake_is_never_flexible() -> None:
    assert not APIS[17].is_flexible(1)
    assert APIS[3].is_flexible(9)
    assert not APIS[3].is_flexible(8)
