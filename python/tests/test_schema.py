"""The JSON schema of scenarios, read by implementations that are not ours."""

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import tidegate as tg

SCENARIOS = Path(__file__).parents[2] / "crates" / "scenario" / "scenarios"
PROGRAM = [sys.executable, "-m", "tidegate"]


@pytest.fixture(name="schema", scope="module")
def of_the_program() -> dict[str, Any]:
    done = subprocess.run([*PROGRAM, "schema"], capture_output=True, text=True, check=True)
    schema: dict[str, Any] = json.loads(done.stdout)
    return schema


def mistakes(schema: dict[str, Any], text: str) -> list[str]:
    validator: Any = jsonschema.Draft202012Validator(schema)
    found = validator.iter_errors(tomllib.loads(text))
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in found]


def test_the_schema_is_a_schema_and_takes_what_the_program_takes(schema: dict[str, Any]) -> None:
    jsonschema.Draft202012Validator.check_schema(schema)
    files = sorted(SCENARIOS.glob("*.toml"))
    assert len(files) > 10
    for file in files:
        assert mistakes(schema, file.read_text("utf-8")) == [], file.name
        resolved = tg.scenario(str(file)).check().toml
        assert mistakes(schema, resolved) == [], f"{file.name}, resolved"


def test_defaults_of_parameters_are_what_they_take(schema: dict[str, Any]) -> None:
    looked_at = 0
    for table in ("transport", "switch"):
        for name, of in schema["properties"][table]["properties"].items():
            for key, parameter in of.get("properties", {}).items():
                if "default" not in parameter:
                    continue
                validator: Any = jsonschema.Draft202012Validator(parameter)
                validator.validate(parameter["default"])
                assert "Takes " in parameter["description"], f"{table}.{name}.{key}"
                assert {"type", "enum", "anyOf"} & parameter.keys(), f"{table}.{name}.{key}"
                looked_at += 1
    assert looked_at > 300, looked_at


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[workload]]\nkind = 'random'\nlaod = 0.5\n", "workload/0: .*'laod' was unexpected"),
        ("[workload]\nkind = 'random'\nlaod = 0.5\n", "workload: .*'laod' was unexpected"),
        ("[workload]\nkind = 'incast'\npairs = ['0 -> 1']\n", "workload: 'pairs' is not one of"),
        ("[workload]\nkind = 'incats'\n", "workload/kind: 'incats' is not one of"),
        (
            "[workload]\nkind = 'incast'\n[transport.dctcp]\ngian = '1/8'\n",
            "transport/dctcp: .*'gian' was unexpected",
        ),
        ("[topology]\nkind = 'star'\n", ": 'workload' is a required property"),
        ("[workload]\nsize = '1KB'\n", "workload: 'kind' is a required property"),
        ("[[workload]]\nsize = '1KB'\n", "workload/0: 'kind' is a required property"),
        (
            "[workload]\nkind = 'incast'\n[transport]\nkind = 'homa'\nprofile = 'b'\n",
            "transport/profile: 'b' is not one of",
        ),
        (
            "[workload]\nkind = 'incast'\n[transport.homa]\npriorities = 3\ncutoffs = [3]\n",
            "transport/homa/cutoffs: (.|\n)*transport/homa/priorities: 3 is not one of",
        ),
        (
            "[workload]\nkind = 'incast'\n[transport.'ndp+aeolus']\ndrop_threshold = '4 packets'\n",
            "drop_threshold: '4 packets' is not valid",
        ),
        (
            "workload.kind = 'incast'\ntransport.expresspass.host_delay = { uniform = ['1us'] }\n",
            "host_delay: .* is not valid",
        ),
    ],
)
def test_a_wrong_key_or_value_is_named(schema: dict[str, Any], text: str, told: str) -> None:
    found = "\n".join(mistakes(schema, text))
    assert re.search(told, found), found


@pytest.mark.parametrize(
    "text",
    [
        "priorities = 4\ncutoffs = ['200B', '1.5KB', '9KB']\n",
        "priorities = 8\ncutoffs = 'auto'\n",
    ],
)
def test_values_with_ways_of_their_own_are_taken(schema: dict[str, Any], text: str) -> None:
    delays = ["'1us'", "{ uniform = ['1us', '2us'] }", "{ quantiles = ['1us', '2us', '4us'] }"]
    for delay in delays:
        both = f"[transport.homa]\n{text}[transport.expresspass]\nhost_delay = {delay}\n"
        assert mistakes(schema, f"[workload]\nkind = 'incast'\n{both}") == []


@pytest.mark.parametrize(
    "text",
    [
        "include = 'other.toml'\n[run]\nseed = 3\n",
        "include = 'other.toml'\n[workload]\nsize = '1KB'\n[[faults]]\nfrom = '1us'\n",
        "[workload]\ninclude = 'other.toml'\nsize = '1KB'\n",
        "[[workload]]\ninclude = 'other.toml'\n",
        "[workload]\nkind = 'incast'\n[switch.mark]\ninclude = 'other.toml'\n",
    ],
)
def test_what_may_stand_in_another_file_is_not_missing(schema: dict[str, Any], text: str) -> None:
    assert mistakes(schema, text) == []


def test_the_editor_plugin_takes_the_schema_beside_a_new_scenario(tmp_path: Path) -> None:
    taplo = Path(sys.executable).with_name("taplo")
    if not taplo.exists():
        found = shutil.which("taplo")
        assert found is not None, "pip install taplo"
        taplo = Path(found)
    subprocess.run([*PROGRAM, "new", "mine.toml"], cwd=tmp_path, check=True)
    check = [str(taplo), "check", "mine.toml"]
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "mine.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(text.replace("senders", "sneders"), "utf-8")
    done = subprocess.run(check, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0, "the line at the top leads to the schema"
    assert "sneders" in done.stderr
