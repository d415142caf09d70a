"""Programs and templates that make a document are told from a document that is wrong."""

from __future__ import annotations

import pytest

from launchers.core.model.problems import LaunchError
from launchers.core.reading.text_file import parse_all

HELM = "spec:\n  count: {{ .Values.hosts }}\n{{- if .Values.spot }}\n  spot: true\n{{- end }}\n"
QUOTED = 'spec:\n  image: "{{ .Values.image }}"\n'
HCL = 'resource "aws_sagemaker_training_job" "main" {\n  training_job_name = "x"\n}\n'
PYTHON = "import boto3\nclient = boto3.client('sagemaker')\nclient.create_training_job(**a)\n"
JINJA = "name: {{ name }}\n{% for x in y %}\n- {{ x }}\n{% endfor %}\n"
SHELL = "#!/bin/bash\naws sagemaker create-training-job --cli-input-json file://x.json\n"
CDK = "import * as cdk from 'aws-cdk-lib';\nconst app = new cdk.App();\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HELM, "a Helm template"),
        (QUOTED, "a Helm template"),
        (HCL, "Terraform's own language"),
        (PYTHON, "a Python program"),
        (JINJA, "a template"),
        (SHELL, "a shell's lines"),
        (CDK, "JavaScript or TypeScript"),
    ],
)
def test_what_makes_a_document_is_named_and_so_is_the_way_to_it(text: str, words: str):
    with pytest.raises(LaunchError) as caught:
        parse_all(text, "x.yaml")
    [problem] = caught.value.problems
    assert problem.rule == "file-shape"
    assert words in problem.found
    assert problem.fix


def test_yaml_that_is_merely_wrong_keeps_its_own_message():
    with pytest.raises(LaunchError) as caught:
        parse_all("a: [1,\nb: 2\n", "x.yaml")
    assert caught.value.problems[0].rule == "file-yaml"


def test_a_document_whose_text_has_such_words_is_read():
    text = 'command: ["python", "-c", "import os"]\nnote: |\n  import boto3\n'
    [tree] = parse_all(text, "x.yaml")
    assert tree["command"][0] == "python"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ('{"a": ${COUNT}}', "a template"),
        ('{"a": {{ count }}}', "a template"),
        ('{\n  // the job\n  "a": 1\n}', "no comments"),
        ('{"a": 1, # one\n "b": 2}', "no comments"),
        ("{'a': 1}", "json.dump"),
        ("{\u201ca\u201d: 1}", "typographic quotes"),
        ('{"a": 1,\n}', "the comma before it"),
        ('{"a": [1}', ""),
        ('{"a": 1 "b": "#fff"}', ""),
        ('{"a": 1}}', ""),
        ('{"a": 1}\n{"b": ${COUNT}}\n', "a template"),
    ],
)
def test_what_is_no_json_says_what_to_do_where_that_is_known(text: str, fix: str):
    with pytest.raises(LaunchError) as caught:
        parse_all(text, "x.json")
    [problem] = caught.value.problems
    assert problem.rule == "file-json"
    assert fix in problem.fix
    assert bool(problem.fix) is bool(fix)


def test_what_is_named_as_json_and_is_no_yaml_either_is_told_as_json():
    with pytest.raises(LaunchError) as caught:
        parse_all('/* the job */\n{\n  "a": 1,\n  "b": 2\n}\n', "x.json")
    [problem] = caught.value.problems
    assert (problem.rule, problem.path) == ("file-json", "x.json:1")
    assert "no comments" in problem.fix
