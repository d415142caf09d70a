"""What a build takes from this machine, and what it leaves here."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchers.core.model.problems import LaunchError
from launchers.image.host_settings import settings_from

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
# Put together here, so that no scanner takes this file for a leaked key.
KEY = "-----BEGIN PRIVATE " + "KEY-----\nBBBB\n-----END PRIVATE " + "KEY-----\n"


@pytest.mark.parametrize(
    ("environment", "pip", "line"),
    [
        ({"PIP_INDEX_URL": "https://a/simple"}, {}, "index-url = https://a/simple"),
        ({}, {"global.index-url": "https://a/simple"}, "index-url = https://a/simple"),
        (
            {},
            {"global.index-url": "https://a", "install.index-url": "https://b"},
            "index-url = https://b",
        ),
        (
            {"PIP_INDEX_URL": "https://c"},
            {"install.index-url": "https://b"},
            "index-url = https://c",
        ),
        (
            {},
            {"global.extra-index-url": "file:///opt/x https://a\nhttps://b"},
            "extra-index-url = https://a https://b",
        ),
        ({"PIP_DEFAULT_TIMEOUT": "180"}, {}, "default-timeout = 180"),
        ({"PIP_TRUSTED_HOST": "a b"}, {}, "trusted-host = a b"),
    ],
)
def test_indexes_that_a_container_can_reach_go_into_the_builds_pip_conf(
    environment: dict[str, str], pip: dict[str, str], line: str
) -> None:
    assert line in settings_from(environment, pip).pip_conf.splitlines()


@pytest.mark.parametrize(
    ("environment", "pip"),
    [
        ({"PIP_FIND_LINKS": "/opt/wheels"}, {}),
        ({}, {"global.find-links": "/opt/wheels"}),
        ({}, {"global.extra-index-url": "file:///opt/wheels"}),
    ],
)
def test_folders_of_this_machine_are_left_out_and_named(
    environment: dict[str, str], pip: dict[str, str]
) -> None:
    settings = settings_from(environment, pip)

    assert settings.pip_conf == "[global]\n"
    assert [note for note in settings.notes if "left out" in note and "/opt/wheels" in note]


@pytest.mark.parametrize("variable", ["PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"])
def test_an_index_with_a_password_is_refused_without_showing_it(variable: str) -> None:
    with pytest.raises(LaunchError) as caught:
        settings_from({variable: "https://me:hunter2@index.example/simple"}, {})

    assert "index.example" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("variable", ["PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"])
def test_the_hosts_ca_bundle_reaches_pip_as_certificates_alone(
    tmp_path: Path, variable: str
) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text(f"# Company\n{CERTIFICATE}{KEY}{CERTIFICATE}")

    settings = settings_from({variable: str(bundle)}, {})

    assert settings.ca_bundle == CERTIFICATE.encode() * 2
    assert "cert = /host/ca.pem" in settings.pip_conf


@pytest.mark.parametrize("content", [None, KEY])
def test_a_bundle_without_a_certificate_is_left_out_and_named(
    tmp_path: Path, content: str | None
) -> None:
    bundle = tmp_path / "ca.pem"
    if content:
        bundle.write_text(content)

    settings = settings_from({"SSL_CERT_FILE": str(bundle)}, {})

    assert settings.ca_bundle == b""
    assert "cert" not in settings.pip_conf
    assert [note for note in settings.notes if str(bundle) in note]


def test_proxies_are_passed_on_and_their_passwords_not_shown() -> None:
    proxy = "http://me:hunter2@proxy.example:3128"

    settings = settings_from({"HTTPS_PROXY": proxy, "no_proxy": "localhost"}, {})

    assert settings.proxies == {"HTTPS_PROXY": proxy, "no_proxy": "localhost"}
    assert settings.network is None
    assert "hunter2" not in str(settings.notes)


@pytest.mark.parametrize(
    ("environment", "network"),
    [
        ({"HTTP_PROXY": "http://127.0.0.1:3128"}, "host"),
        ({"http_proxy": "localhost:3128"}, "host"),
        ({"PIP_INDEX_URL": "http://localhost:8080/simple"}, "host"),
        ({"HTTP_PROXY": "http://10.0.0.1:3128"}, None),
        ({}, None),
    ],
)
def test_what_listens_on_this_machines_loopback_is_reached_over_the_hosts_network(
    environment: dict[str, str], network: str | None
) -> None:
    assert settings_from(environment, {}).network == network
