"""What is taken for a credential, what is not, and what is said of it.

Every planted value is put together at run time from harmless pieces: the repository itself holds
nothing that has the shape of a credential.
"""

from __future__ import annotations

import base64
import json
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launchers.core.credentials import search
from launchers.core.credentials.names import kind_of_name
from tests.places import ROOT


def _random_text(length: int, alphabet: str, seed: int = 7) -> str:
    choose = random.Random(seed)
    return "".join(choose.choice(alphabet) for _ in range(length))


ALPHANUMERIC = string.ascii_letters + string.digits
HEXADECIMAL = "0123456789abcdef"
GIT_HASH = _random_text(40, HEXADECIMAL)
SHA256 = _random_text(64, HEXADECIMAL)
MIXED = _random_text(40, ALPHANUMERIC)
AWS_KEY_ID = "AKIA" + "IOSFODNN7" + "EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI" + "/K7MDENG/" + "bPxRfiCY" + "EXAMPLEKEY"
CONDA_TOKEN = "19ec59a6-f3b4-4d62-" + "a686-a882d9c1f209"
JWT = ".".join(
    base64.urlsafe_b64encode(part.encode()).decode().rstrip("=")
    for part in ('{"alg":"HS256","typ":"JWT"}', '{"sub":"1234567890"}', "not-a-real-signature")
)
PRIVATE_KEY = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + "MIIEpAIBAAKCAQEA" * 4 + "\n-----END"
URL_WITH_PASSWORD = "postgres://trainer:" + "hunter2" + "@db.internal:5432/runs"

CREDENTIALS = {
    # name, value, kind
    "AWS access key id": ("FOO", AWS_KEY_ID, "an AWS access key id"),
    "AWS temporary key id": ("FOO", "ASIA" + _random_text(16, "ABCDEFG234567"), "AWS access key"),
    "AWS secret by name": ("AWS_SECRET_ACCESS_KEY", AWS_SECRET, "an AWS secret access key"),
    "AWS secret alone": ("FOO", AWS_SECRET, "an AWS secret access key"),
    "AWS secret alone, nearly all lower case": (
        "FOO",
        "A"
        + "".join(a + b for a, b in zip("kxqzvbnprtyuhgfdsmw", "3927481650372941865", strict=True))
        + "j",
        "an AWS secret access key",
    ),
    "AWS secret JSON encoded": ("foo", json.dumps(AWS_SECRET), "an AWS secret access key"),
    "AWS secret inside a text": ("AWS_KEYS", f"id,{AWS_SECRET},x", "an AWS secret access key"),
    "AWS session token": ("FOO", "IQoJb3JpZ2luX2Vj" + MIXED * 4, "an AWS session token"),
    "AWS session token by name": ("AWS_SESSION_TOKEN", "FakeSession1", "a token, by its name"),
    "GitHub": ("FOO", "ghp_" + MIXED[:36], "a GitHub token"),
    "GitHub fine-grained": ("FOO", "github_pat_" + MIXED + "_" + MIXED, "a GitHub token"),
    "GitLab": ("FOO", "glpat-" + MIXED[:20], "a GitLab token"),
    "Slack": ("FOO", "xoxb-" + "123456789012-" + MIXED[:24], "a Slack token"),
    "Slack webhook": (
        "URL",
        "https://hooks.slack.com/services/" + "T01ABC/B02DEF/" + MIXED[:24],
        "a Slack webhook",
    ),
    "Hugging Face": ("FOO", "hf_" + MIXED[:34], "a Hugging Face token"),
    "OpenAI": ("FOO", "sk-" + MIXED + "ab12", "an API key"),
    "OpenAI project": ("FOO", "sk-proj-" + MIXED, "an API key"),
    "Google API key": ("FOO", "AIza" + MIXED[:35], "a Google API key"),
    "Google client secret": ("FOO", "GOCSPX-" + MIXED[:28], "a Google OAuth secret"),
    "Google access token": ("FOO", "ya29." + MIXED, "a Google access token"),
    "Weights & Biases by name": ("WANDB_API_KEY", GIT_HASH, "a key, by its name"),
    "Databricks": ("FOO", "dapi" + _random_text(32, HEXADECIMAL), "a Databricks token"),
    "JSON web token": ("FOO", JWT, "a JSON web token"),
    "private key": ("FOO", PRIVATE_KEY, "a private key"),
    "private key, cut short": ("FOO", "-----BEGIN PRIVATE" + " KEY-----", "a private key"),
    "service account": (
        "GOOGLE",
        json.dumps({"type": "service_account", "private_key": PRIVATE_KEY}),
        "a private key",
    ),
    "URL with a password": ("DATABASE_URL", URL_WITH_PASSWORD, "a URL with a password in it"),
    "URL with the word password": (
        "URL",
        "https://user:" + "password@host/x",
        "a URL with a password in it",
    ),
    "password without user in a URL": ("URL", "redis://:" + "s3same@cache:6379", "a URL with"),
    "Azure connection": (
        "FOO",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + MIXED * 2 + "==",
        "an Azure key",
    ),
    "connection string": ("DB", "Server=db;Uid=me;Password=hunter2;", "a password, by its name"),
    "signed URL": ("DATA", "https://b/x?X-Amz-Signature=" + SHA256, "a signed URL"),
    "shared access signature": ("DATA", "https://b/x?se=1&sig=" + MIXED, "a signed URL"),
    "header": ("HEADER", "Authorization: Bearer " + MIXED, "an Authorization header"),
    "inside JSON": ("CONFIG", '{"db": {"password": "hunter2"}}', "a password, by its name"),
    "password": ("DB_PASSWORD", "hunter2", "a password, by its name"),
    "password, camel case": ("dbPassword", "hunter2", "a password, by its name"),
    "password, one word": ("PGPASSWORD", "hunter2", "a password, by its name"),
    "password of digits": ("PASSWORD", "12345678", "a password, by its name"),
    "password, numbered": ("PASSWORD_2", "hunter2", "a password, by its name"),
    "pass of an owner": ("SMTP_PASS", "hunter2", "a password, by its name"),
    "Redis": ("REDIS_AUTH", "hunter2", "a password, by its name"),
    "MySQL": ("MYSQL_PWD", "hunter2", "a password, by its name"),
    "secret": ("CLIENT_SECRET", "abc-def-ghi", "a secret, by its name"),
    "token": ("HF_TOKEN", "abcdefghij", "a token, by its name"),
    "key": ("apiKey", "abcdefghij", "a key, by its name"),
}

HARMLESS = {
    "git hash": ("GIT_COMMIT", GIT_HASH),
    "git hash, upper case": ("COMMIT", GIT_HASH.upper()),
    "git hash of a secret-sounding thing": ("SECRET_SANTA_COMMIT", GIT_HASH),
    "digest": ("DIGEST", f"sha256:{SHA256}"),
    "digest without prefix": ("BUNDLE", SHA256),
    "UUID": ("RUN_ID", "3f2504e0-4f89-11d3-9a0c-0305e82c3301"),
    "S3 URI": ("DATA", "s3://my-bucket/datasets/ImageNet2012/Train/Shards/part00001"),
    "S3 URI as a key": ("API_KEY", "s3://my-bucket/keys/one"),
    "role": ("ROLE", "arn:aws:iam::123456789012:role/service-role/AmazonSageMakerExecution"),
    "secret ARN": (
        "SECRET_ARN",
        "arn:aws:secretsmanager:us-east-1:123456789012:secret:team/wandb-AbCdEf",
    ),
    "reference under the secret's own name": (
        "DB_PASSWORD",
        "arn:aws:secretsmanager:us-east-1:123456789012:secret:TeamProdServiceDatabase2Password-x",
    ),
    "Google reference": ("API_KEY", "projects/p/secrets/wandb/versions/3"),
    "image": ("IMAGE", "763104351884.dkr.ecr.us-east-1.amazonaws.com/tensorflow:2.12-gpu-py310"),
    "image by digest": ("IMAGE", f"docker://registry.example:5000/train:2@sha256:{SHA256}"),
    "base64 of words": ("GREETING", base64.b64encode(b"Hello world, this is a test!!!").decode()),
    "long path": ("OUT", "/opt/ml/Models/ResNet50V2/Checkpoints12/Best/epoch"),
    "path of exactly 40 characters": ("OUT", "src/Models/EfficientNetB7/TrainSteps/Run"),
    "identifier of 40 characters": ("CLASS", "MyVeryLongCamelCaseIdentifierForAThing42"),
    "tokenizers": ("TOKENIZERS_PARALLELISM", "true"),
    "tokenizer": ("tokenizer", "bert-base-uncased"),
    "count of tokens": ("MAX_TOKENS", "512"),
    "number under token": ("max_token", "512"),
    "special token": ("eos_token", "<|endoftext|>"),
    "padding token": ("PAD_TOKEN", "[PAD]"),
    "language token": ("forced_bos_token", "deu_Latn_x"),
    "boolean token": ("use_auth_token", "True"),
    "keypoints": ("KEYPOINTS", "17"),
    "sort key": ("SORT_KEY", "image_path"),
    "monkey": ("MONKEY", "bananas-are-good"),
    "encryption key by id": ("VOLUME_KEY", "1234abcd-12ab-34cd-56ef-1234567890ab"),
    "variable": ("DB_PASSWORD", "${DB_PASSWORD}"),
    "template": ("DB_PASSWORD", "{{ secrets.db }}"),
    "placeholder": ("API_KEY", "<your key>"),
    "empty": ("API_KEY", ""),
    "masked": ("API_KEY", "********"),
    "file": ("PASSWORD_FILE", "/run/secrets/db"),
    "path as a password": ("DB_PASSWORD", "/run/secrets/db"),
    "working folder": ("PWD", "/home/me/project"),
    "former folder": ("OLDPWD", "/home/me"),
    "passes": ("NUM_PASS", "three"),
    "URL": ("ENDPOINT", "https://tracking.internal:8080/@team/run?x=1"),
    "URL with a user": ("REPO", "ssh://git@github.com/me/repo.git"),
    "URL with a variable": ("URL", "postgres://me:${PASS}@db/x"),
    "learning rate": ("lr", "1e-3"),
    "task name": ("TASK", "task-abcdefghijklmnopqrstuvwxyz"),
    "model name": ("MODEL", "sk-image-segmentation-model-large-v2"),
    "NCCL": ("NCCL_SOCKET_IFNAME", "eth0,ens5"),
    "MPI options": ("OPTIONS", "-x NCCL_DEBUG=INFO --mca btl_tcp_if_include eth0"),
    "JSON": ("CONFIG", '{"tokenizer": "bert", "max_tokens": 3, "layers": [1, 2]}'),
}


@pytest.mark.parametrize(("name", "value", "kind"), CREDENTIALS.values(), ids=CREDENTIALS)
def test_a_credential_is_named_by_its_kind_and_never_by_its_value(
    name: str, value: str, kind: str
) -> None:
    found = search.looks_like_credential(name, value)
    assert found is not None
    assert kind in found
    assert value not in found


@pytest.mark.parametrize(("name", "value"), HARMLESS.values(), ids=HARMLESS)
def test_what_only_resembles_a_credential_passes(name: str, value: str) -> None:
    assert search.looks_like_credential(name, value) is None


@given(st.integers(min_value=0, max_value=10_000))
def test_no_git_hash_and_no_digest_is_ever_a_credential(seed: int) -> None:
    for length in (32, 40, 64):
        value = _random_text(length, HEXADECIMAL, seed)
        assert search.looks_like_credential("COMMIT", value) is None
        assert search.looks_like_credential("COMMIT", value.upper()) is None


def test_nearly_every_random_aws_secret_key_is_found_without_a_name() -> None:
    alphabet = ALPHANUMERIC + "/+"
    keys = [_random_text(40, alphabet, seed) for seed in range(1000)]
    found = [key for key in keys if search.looks_like_credential("x", key)]
    assert len(found) >= 970
    named = [key for key in keys if search.looks_like_credential("aws_secret_key", key)]
    assert len(named) >= 995


@given(st.text(max_size=60), st.text(max_size=200))
def test_any_name_and_value_can_be_asked(name: str, value: str) -> None:
    found = search.looks_like_credential(name, value)
    assert found is None or found


@given(st.text(max_size=400), st.booleans())
def test_any_text_can_be_scanned_and_lines_lie_inside_it(text: str, configuration: bool) -> None:
    for line, kind in search.scan_text(text, "configuration" if configuration else "code"):
        assert 1 <= line <= text.count("\n") + 1
        assert kind


SOURCE_LINES = {
    "password": 'password = "hunter2"',
    "password with a type": 'password: str = "hunter2"',
    "password as a keyword": 'connect(user="me", password="hunter2")',
    "password in a dict": "settings = {'db_password': 'hunter2'}",
    "environment assignment": f'os.environ["WANDB_API_KEY"] = "{GIT_HASH}"',
    "environment default": f'os.environ.setdefault("WANDB_API_KEY", "{GIT_HASH}")',
    "wandb": f'wandb.login(key="{GIT_HASH}")',
    "AWS": f'AWS_SECRET_ACCESS_KEY = "{AWS_SECRET}"',
    "AWS client": f'boto3.client("s3", aws_access_key_id="{AWS_KEY_ID}")',
    "Hugging Face": f'login("hf_{MIXED[:34]}")',
    "URL": f'engine = create_engine("{URL_WITH_PASSWORD}")',
    "notebook": '"api_key = \\"' + MIXED + '\\"\\n",',
    "private key": 'KEY = """-----BEGIN PRIVATE' + " KEY-----\n" + MIXED * 2 + '"""',
    "private key in a notebook": 'PRIVATE KEY-----\\n", "'.join(('"-----BEGIN ', MIXED * 2)),
    "wandb's command": f'"!wandb login {GIT_HASH}"',
    "wandb's command with a flag": f"os.system('wandb login --relogin {GIT_HASH}')",
    "registry": '{"auths": {"index.docker.io": {"auth": "bWU6Wmszdlexample=="}}}',
    "secret": f"client_secret = '{MIXED}'",
    "conda channel": f"  - https://conda.example.com/t/an-{CONDA_TOKEN}/team",
    "anaconda.org's channel": f"  - https://conda.anaconda.org/t/{MIXED[:24]}/team",
    "Kaggle's file": f'{{"username":"me","key":"{GIT_HASH[:32]}"}}',
    "Kaggle's file in a program": f"""f.write('{{"username": "me", "key": "{GIT_HASH[:32]}"}}')""",
    "Kaggle's file in a notebook": f'"{{\\"username\\":\\"me\\",\\"key\\":\\"{GIT_HASH[:32]}\\"}}"',
}

HARMLESS_LINES = {
    "from the environment": 'password = os.environ["DB_PASSWORD"]',
    "from a prompt": 'password = getpass.getpass("Password: ")',
    "with a default": 'token = os.environ.get("HF_TOKEN", "")',
    "placeholder": 'api_key = "YOUR_API_KEY"',
    "sample URL": 'url = "postgres://user:password@localhost/db"',
    "forum": "# https://community.anaconda.cloud/t/how-to-install-pytorch-2-1-with-conda/12345",
    "comparison": 'if token == "abcdef123456abcdef1234":',
    "tokenizer": 'tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")',
    "special token": 'tokenizer.pad_token = "<|reserved_special_token_0|>"',
    "columns": 'COLUMNS = ["username", "password", "address", "token"]',
    "widget": '<input type="password" name="password_again">',
    "name of a field": 'password_field = "user_password_2"',
    "identifier": 'password = "user_password"',
    "type": "def login(user: str, password: str, token: Token) -> None:",
    "git hash": f'REVISION = "{GIT_HASH}"',
    "git hash beside the word secret": f'secret_santa("{GIT_HASH}")',
    "lock file": f'{{"integrity": "sha512-{MIXED * 2}=="}}',
    "header of a key": 'if "-----BEGIN PRIVATE KEY-----" in text_of_the_file:',
    "headers of keys": '("-----BEGIN PRIVATE KEY-----", "certificateAuthorityData01")',
    "wandb's command with a variable": '"!wandb login $WANDB_API_KEY"',
    "an example's registry": '{"auths": {"host": {"auth": "dXNlcjpwYXNzd29yZA=="}}}',
    "a placeholder's registry": '{"auths": {"host": {"auth": "base64string"}}}',
    "wandb's command with zeros": f"wandb login {'0' * 40}",
    "registry with a variable": '{"auths": {"index.docker.io": {"auth": "${DOCKER_AUTH}"}}}',
    "header with a variable": 'headers = {"Authorization": f"Bearer {token}"}',
    "conda channel with a variable": "  - https://conda.anaconda.org/t/${CONDA_TOKEN_OF_TEAM_12}/team",
    "a forum's address": "# https://discuss.example.org/t/how-to-fix-2-gpus-of-4-ranks/12345",
    "user and the key of a table": f'{{"username": "me", "key": "{"0" * 32}"}}',
    "Kaggle's file without a key": '{"username":"","key":""}',
    "image": f'IMAGE = "docker://registry:5000/x@sha256:{SHA256}"',
}


@pytest.mark.parametrize("line", SOURCE_LINES.values(), ids=SOURCE_LINES)
def test_a_credential_in_source_is_found_on_its_line(line: str) -> None:
    text = f"import os\n\n# a comment\n{line}\nprint('done')\n"
    assert [number for number, _ in search.scan_text(text)] == [4]


@pytest.mark.parametrize("line", HARMLESS_LINES.values(), ids=HARMLESS_LINES)
def test_ordinary_source_has_no_credential(line: str) -> None:
    assert search.scan_text(f"import os\n{line}\n") == []


def test_values_without_quotes_count_in_configuration_alone() -> None:
    text = f"db:\n  user: me\n  password: hunter2\nexport API_KEY={MIXED}\nmax_tokens: 512\n"
    assert [line for line, _ in search.scan_text(text, "configuration")] == [3, 4]
    assert search.scan_text(text) == []


def test_an_aws_secret_is_found_beside_its_key_id() -> None:
    text = f"[default]\nid = {AWS_KEY_ID}\nvalue = {AWS_SECRET}\n"
    assert search.scan_text(text) == [
        (2, "an AWS access key id"),
        (3, "an AWS secret access key"),
    ]


def test_our_own_source_has_no_credential() -> None:
    for folder in ("launchers", "entrypoints"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            assert search.scan_text(path.read_text("utf-8")) == [], path


def test_an_environment_gives_one_problem_a_value_with_its_place_and_both_ways_on() -> None:
    environment = {"EPOCHS": "3", "DB_PASSWORD": "hunter2", "key": AWS_KEY_ID, "COMMIT": GIT_HASH}
    problems = search.problems_in_environment(environment, "$.Environment")
    assert [problem.path for problem in problems] == [
        "$.Environment.DB_PASSWORD",
        "$.Environment.key",
    ]
    text = "\n".join(map(str, problems))
    assert "hunter2" not in text
    assert AWS_KEY_ID not in text
    assert "--secret DB_PASSWORD=REFERENCE" in text
    assert "--secret key=REFERENCE" in text
    assert "--allow-value 'DB_PASSWORD'" in text
    assert {problem.severity for problem in problems} == {"error"}


def test_an_allowed_name_passes_and_no_other() -> None:
    environment = {"DB_PASSWORD": "hunter2", "HF_TOKEN": "abcdefghij"}
    problems = search.problems_in_environment(environment, "--env ", {"DB_PASSWORD"})
    assert [problem.path for problem in problems] == ["--env HF_TOKEN"]
    assert search.flagged_environment(environment) == {
        "DB_PASSWORD": "a password, by its name",
        "HF_TOKEN": "a token, by its name",
    }


ARGUMENTS = {
    "two words": (["--db-password", "hunter2"], ["db-password"]),
    "one word": (["--db-password=hunter2"], ["db-password"]),
    "one dash": (["-db_password", "hunter2"], ["db_password"]),
    "hydra": (["++db.password=hunter2"], ["db.password"]),
    "hydra, by its value": (["note=" + AWS_KEY_ID, "++lr=0.1"], ["note"]),
    "positional": (["train", AWS_KEY_ID], ["argument 2"]),
    "value of another option": (["--note", AWS_SECRET], ["note"]),
    "option without a value": (["--use-password", "--verbose"], []),
    "value that begins with a dash": (["--password", "-hunter2"], ["password"]),
    "after a flag": (["-v", "-v", "--token", "abcdefghij"], ["token"]),
    "harmless": (["--tokenizer", "bert-base", "--lr", "-0.1", "-v", "file#1", ""], []),
    "hash": (["--commit", GIT_HASH, f"--digest=sha256:{SHA256}"], []),
    "reference": (["--secret-arn", "arn:aws:secretsmanager:eu-west-1:1:secret:x"], []),
    "every one": (["--a-token=abcdefghij", "--b-secret", "abcdefghij"], ["a-token", "b-secret"]),
}


@pytest.mark.parametrize(("arguments", "names"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_credentials_among_arguments_are_found_in_every_form(
    arguments: list[str], names: list[str]
) -> None:
    assert [name for name, _, _ in search.flagged_arguments(arguments)] == names
    problems = search.problems_in_arguments(arguments, "arguments: ")
    assert [problem.path for problem in problems] == [f"arguments: {name}" for name in names]
    assert "hunter2" not in "".join(map(str, problems))
    assert search.problems_in_arguments(arguments, "arguments: ", names) == []


def test_an_argument_is_allowed_with_or_without_its_dashes() -> None:
    arguments = ["--db-password", "hunter2"]
    assert search.problems_in_arguments(arguments, "--", ["--db-password"]) == []
    (problem,) = search.problems_in_arguments(arguments, "arguments")
    assert "--secret DB_PASSWORD=REFERENCE" in problem.fix


def test_an_argument_list_in_json_is_read_by_the_names_of_its_arguments() -> None:
    arguments = ["--lr", "1.10", "--db-password", "hunter2", AWS_KEY_ID]
    document = {"sagemaker_launch_args": json.dumps(arguments), "list": '["a", "b"]', "other": "["}
    problems = search.problems_in_environment(document, "$.HyperParameters")
    assert [problem.path for problem in problems] == [
        "$.HyperParameters.sagemaker_launch_args: db-password",
        "$.HyperParameters.sagemaker_launch_args: argument 5",
    ]
    allowed = ["db-password", "argument 5"]
    assert search.problems_in_environment(document, "$.HyperParameters", allowed) == []


def test_a_value_that_is_no_list_but_begins_as_a_deep_one_is_no_defect() -> None:
    assert search.flagged_environment({"NAME": "[" * 100_000}) == {}


def test_a_path_is_written_as_its_prefix_asks() -> None:
    arguments = ["--db-password", "hunter2", AWS_KEY_ID]
    paths = [problem.path for problem in search.problems_in_arguments(arguments, "--")]
    assert paths == ["--db-password", "argument 3"]
    (problem,) = search.problems_in_environment({"DB_PASSWORD": "hunter2"}, "--env ")
    assert problem.path == "--env DB_PASSWORD"


def test_a_mask_tells_the_length_alone() -> None:
    assert search.mask("hunter2") == "*** (7 characters)"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("APIKey", "a key"),
        ("X-Api-Key", "a key"),
        ("OAuthToken", "a token"),
        ("SECRET_ARN", ""),
        ("TOKEN_FILE", ""),
        ("", ""),
        ("123", ""),
        ("ÄÖ", ""),
    ],
)
def test_the_last_word_of_a_name_decides(name: str, kind: str) -> None:
    assert kind_of_name(name) == kind
