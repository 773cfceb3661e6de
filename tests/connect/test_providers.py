"""Config providers: references are replaced, and what they stand for can be hidden again."""

import io
import logging
from collections.abc import Mapping
from pathlib import Path

import pytest

from moldau.connect.config.errors import ConfigError
from moldau.connect.providers import ConfigProvider, HidingFormatter, Providers

PACKAGE = "org.apache.kafka.common.config.provider"
SETTINGS = {
    "config.providers": "file, env,directory",
    "config.providers.file.class": f"{PACKAGE}.FileConfigProvider",
    "config.providers.env.class": f"{PACKAGE}.EnvVarConfigProvider",
    "config.providers.env.param.allowlist.pattern": "DB_.*",
    "config.providers.directory.class": f"{PACKAGE}.DirectoryConfigProvider",
}


def test_references_are_replaced_and_others_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = tmp_path / "db.properties"
    secrets.write_text("user=ada\npassword=s3cret\n")
    (tmp_path / "token").write_text("abc\n")
    monkeypatch.setenv("DB_HOST", "db.example")
    monkeypatch.setenv("HOME_TOWN", "Praha")
    config = {
        "url": f"//${{env:DB_HOST}}/${{file:{secrets}:user}}",
        "password": f"${{file:{secrets}:password}}",
        "token": f"${{directory:{tmp_path}:token}}",
        "missing": f"${{file:{secrets}:nothing}}",
        "not.allowed": "${env:HOME_TOWN}",
        "unknown": "${vault:a:b}",
        "plain": "$x {y}",
    }
    resolved = Providers.from_settings(SETTINGS).resolve(config)
    assert resolved.config == {
        "url": "//db.example/ada",
        "password": "s3cret",
        "token": "abc\n",
        "missing": config["missing"],
        "not.allowed": "${env:HOME_TOWN}",
        "unknown": "${vault:a:b}",
        "plain": "$x {y}",
    }
    message = "login with s3cret and abc failed at db.example"
    assert resolved.hide(message) == (
        f"login with {config['password']} and {config['token']} failed at ${{env:DB_HOST}}"
    )


def test_a_longer_secret_is_hidden_before_one_that_is_part_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DB_A", "horse")
    monkeypatch.setenv("DB_B", "horse-battery")
    resolved = Providers.from_settings(SETTINGS).resolve({"a": "${env:DB_A}", "b": "${env:DB_B}"})
    assert resolved.hide("horse-battery, horse") == "${env:DB_B}, ${env:DB_A}"


def test_only_files_below_the_allowed_paths_are_read(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "f").write_text("k=value")
    settings = {**SETTINGS, "config.providers.file.param.allowed.paths": str(inside)}
    references = {
        "good": f"${{file:{inside}/f:k}}",
        "bad": f"${{file:{outside}/f:k}}",
        "sly": f"${{file:{inside}/../out/f:k}}",
    }
    resolved = Providers.from_settings(settings).resolve(references).config
    assert resolved == {**references, "good": "value"}


def test_a_key_of_a_directory_is_a_file_in_it(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s3cret")
    (tmp_path / "folder").mkdir()
    reference = f"${{directory:{tmp_path}/folder:../secret}}"
    resolved = Providers.from_settings(SETTINGS).resolve({"a": reference})
    assert resolved.config == {"a": reference}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"config.providers": "x"}, "config.providers.x.class is required"),
        ({"config.providers.file.class": "Vault"}, "class cannot be Vault: .*FileConfigProvider"),
        ({"config.providers.file.param.allowed.paths": "relative"}, "the path is not absolute"),
        ({"config.providers.env.param.allowlist.pattern": "("}, "allowlist.pattern"),
    ],
)
def test_a_wrong_provider_is_named(change: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        Providers.from_settings({**SETTINGS, **change})


class Vault(ConfigProvider):
    """A provider that somebody else wrote."""

    def __init__(self, name: str, parameters: Mapping[str, str]) -> None:
        super().__init__(name, parameters)
        self.prefix = parameters["prefix"]

    def get(self, path: str, key: str) -> str | None:
        return f"{self.prefix}-{path}-{key}"


def test_a_provider_may_be_somebody_elses() -> None:
    settings = {
        "config.providers": "vault",
        "config.providers.vault.class": "tests.connect.test_providers.Vault",
        "config.providers.vault.param.prefix": "secret",
    }
    resolved = Providers.from_settings(settings).resolve({"a": "${vault:db:user}"})
    assert resolved.config == {"a": "secret-db-user"}


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ConfigError, match="properties in /no/such cannot be read"):
        Providers.from_settings(SETTINGS).resolve({"a": "${file:/no/such:key}"})


def test_the_environment_has_no_paths() -> None:
    with pytest.raises(ConfigError, match=r"write \$\{env:KEY\}"):
        Providers.from_settings(SETTINGS).resolve({"a": "${env:/path:KEY}"})


def test_values_are_in_no_line_of_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever logs them: a batch that is tried again, an exception of a library."""
    monkeypatch.setenv("DB_TOKEN", "s3cret-path")
    config = {"url": "https://hooks.example/${env:DB_TOKEN}"}
    url = Providers.from_settings(SETTINGS).resolve(config).config["url"]
    lines = io.StringIO()
    output = logging.StreamHandler(lines)
    output.setFormatter(HidingFormatter("%(levelname)s %(message)s"))
    log = logging.Logger("connector")
    log.addHandler(output)
    log.warning("written again: %s cannot be reached", url)
    try:
        raise OSError(f"no route to {url}")
    except OSError:
        log.exception("failed")
    assert "WARNING written again: https://hooks.example/${env:DB_TOKEN}" in lines.getvalue()
    assert "OSError: no route to https://hooks.example/${env:DB_TOKEN}" in lines.getvalue()
    assert "s3cret-path" not in lines.getvalue()
