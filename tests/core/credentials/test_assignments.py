"""Values that are a credential by the name that they are given to, in each manner of writing."""

from __future__ import annotations

import pytest

from launchers.core.credentials.search import scan_text

VALUE = "k7Qm2xR9" + "vT4bZ1nW8cY5dL0p"
PASSWORD = "hunter2" + "x9"

ANYWHERE = {
    "Make's assignments": f'api_token ::= "{VALUE}"',
    "a conditional assignment": f'api_token ?= "{VALUE}"',
    "an appended text": f'$apiToken .= "{VALUE}";',
    "Go's backticks": f"apiToken := `{VALUE}`",
    "Go's types": f'var apiToken string = "{VALUE}"',
    "a comparison with a password": f'if given_password == "{PASSWORD}":',
    "an element of XML": f"<server><password>{PASSWORD}</password></server>",
    "an attribute of XML": f'<add key="DbPassword" value="{PASSWORD}" />',
    "a pair of JSON": f'{{"Name": "DB_PASSWORD", "Value": "{PASSWORD}"}}',
    "a line within a string": f'{{"a.ini": "API_TOKEN={VALUE}\\nX=1"}}',
    "a query": f'url = "https://example.com/x?token={VALUE}"',
    "a connection string": f'"Server=db;Uid=me;Pwd={PASSWORD};"',
    "credentials": f'credentials = "{VALUE}"',
    "a registry's auth": f'{{"auths": {{"host": {{"auth": "{VALUE}=="}}}}}}',
    "a key of a service": f'HEROKU_KEY = "{VALUE}"',
    "a basic header": f'headers = {{"Authorization": "Basic {VALUE}=="}}',
    "sshpass": f"sshpass -p {PASSWORD} scp a b:",
    "a login to a registry": f"docker login -u me -p {PASSWORD} host",
    "netrc": f"machine host\n  login me\n  password {PASSWORD}",
    "a manifest": "kind: Secret\ndata:\n  db: " + "aHVudGVyMng5aHVudGVy\n",
    "a manifest in blocks": "data:\n  a: |\n    aHVudGVyMng5aHVudGVy\nkind: Secret\n",
}
IN_PROSE = {
    "a bare value": f"api_token = {VALUE}",
    "an option": f"run it with --api-token {VALUE}",
    "an option with a password": f"wget --password {PASSWORD} host",
}
INNOCENT = {
    "a comparison with a mode": 'if password == "prompt_for_it":',
    "a comparison of another name": f'if token == "{VALUE}":',
    "a variable": "password = self._password",
    "a reference of YAML": "password: !vault |",
    "a word of prose": "the password : mine",
    "an option's name": "--password-file path",
    "a place for an option": "--password PASSWORD",
    "an element that nests": "<password><b>x</b></password>",
    "a class of a service": '"AWS::X::AppAuthorization": "1f98c5225b47f913"',
    "a header that is made": 'headers["Authorization"] = header_of_version_2',
    "a list of names": '("name", "auth", "credentials")',
    "data of another kind": "kind: ConfigMap\ndata:\n  db: aHVudGVyMng5aHVudGVy\n",
    "a Secret without data": "kind: Secret\nmetadata:\n  labels: aHVudGVyMng5aHVudGVy\n",
    "a sorting key": 'sort_key = "model-v2-2024a1b2"',
    "a pair of a place": '{"Name": "PASSWORD_FILE", "Value": "/run/secrets/db"}',
}


@pytest.mark.parametrize("text", ANYWHERE.values(), ids=ANYWHERE)
@pytest.mark.parametrize("manner", ["code", "prose"])
def test_it_is_found_in_code_and_in_prose(text: str, manner):
    assert scan_text(text + "\n", manner)


@pytest.mark.parametrize("text", IN_PROSE.values(), ids=IN_PROSE)
def test_a_value_without_quotes_is_found_where_it_is_no_code(text: str):
    assert scan_text(text + "\n", "prose")
    assert scan_text(text + "\n", "configuration")
    assert scan_text(text + "\n") == []


@pytest.mark.parametrize("text", INNOCENT.values(), ids=INNOCENT)
@pytest.mark.parametrize("manner", ["code", "prose"])
def test_what_only_looks_alike_passes(text: str, manner):
    assert scan_text(text + "\n", manner) == []
