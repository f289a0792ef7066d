"""Scenarios as values: how they are said, shown, checked and refused."""

import copy
import inspect
import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import tidegate as tg
from tidegate import plot

SMALL = tg.scenario("incast", fanout=4, size="20KB")
STAR = {
    "name": "mine",
    "topology": {"kind": "star", "hosts": 8, "host_rate": "25Gbps"},
    "workload": [
        {"kind": "incast", "senders": 3, "size": "20KB"},
        {"kind": "permutation", "size": "5KB", "tag": "cross traffic"},
    ],
    "transport": {"kind": "dctcp", "dctcp": {"gain": "1/8"}},
    "thresholds": {"fct.p99": "< 1s"},
}


def test_every_keyword_is_a_key_of_the_reference_and_reaches_it() -> None:
    keywords = {
        name
        for name, parameter in inspect.signature(tg.scenario).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name != "set"
    }
    assert keywords == set(tg.KEYS)
    done = subprocess.run(
        [sys.executable, "-m", "tidegate", "schema"], capture_output=True, text=True, check=True
    )
    tables = json.loads(done.stdout)["properties"]
    for key in tg.KEYS.values():
        table, _, name = key.partition(".")
        assert f'"{name}"' in json.dumps(tables[table]), key


def test_values_with_units_arrive() -> None:
    resolved = tg.scenario(
        "web-search", transport="dctcp", load=0.3, link="40Gbps", messages=9, seed=5, until="1s"
    ).resolved
    assert resolved["transport"]["kind"] == "dctcp"
    assert resolved["topology"]["host_rate"] == "40Gbps"
    [workload] = resolved["workload"]
    assert (workload["load"], workload["messages"]) == (0.3, 9)
    assert (resolved["run"]["seed"], resolved["run"]["until"]) == (5, "1s")


def test_a_scenario_shows_itself_as_the_call_that_makes_it() -> None:
    said = tg.scenario(SMALL, transport="dctcp", set={"switch.buffer": "1MB"})
    assert eval(repr(said), {"scenario": tg.scenario}) == said  # noqa: S307
    assert repr(SMALL) == "scenario('incast', fanout=4, size='20KB')"
    assert eval(repr(tg.scenario(STAR)), {"scenario": tg.scenario}).start == STAR  # noqa: S307


def test_a_scenario_refines_another_and_leaves_it_alone() -> None:
    other = tg.scenario(SMALL, fanout=5, set={"run.seed": 3})
    assert other.sets == {"workload.senders": 5, "workload.size": "20KB", "run.seed": 3}
    assert SMALL.sets["workload.senders"] == 4


def test_check_says_what_follows_and_reads_on_the_screen() -> None:
    check = SMALL.check()
    assert check.transport == "expresspass"
    assert check.derived["messages"] == "4"
    assert "BDP" in str(check)
    assert "senders = 4" in check.toml


@pytest.mark.parametrize(
    ("start", "sets", "hint"),
    [
        ("shuffle", {"workload.load": 0.5}, "tidegate new FILE --from web-server"),
        ("incast", {"workload.size": 20_000}, "unit"),
        ({"workload": {"kind": "incast", "sendrs": 4}}, {}, 'did you mean "senders"'),
        ({"topology": {"kind": "star"}}, {}, "there is no [workload]"),
    ],
)
def test_check_refuses_what_a_run_would(
    start: tg.Start, sets: dict[str, object], hint: str
) -> None:
    wrong = tg.scenario(start, set=sets)
    for attempt in (wrong.check, lambda: tg.run(wrong)):
        with pytest.raises(tg.RunError) as refused:
            attempt()
        assert refused.value.code == 2
        assert hint in str(refused.value)
    assert pickle.loads(pickle.dumps(refused.value)).code == 2  # noqa: S301


def test_what_has_no_place_in_a_file_is_a_type_error() -> None:
    for value in (None, float("nan"), object()):
        with pytest.raises(TypeError, match=r"run\.seed: .* has no place in a scenario"):
            tg.scenario("incast", set={"run.seed": value})
    listed = {"workload": [{"kind": "incast", "senders": 10**400}, {"size": None}]}
    with pytest.raises(TypeError, match=r"workload\[1\]\.size: None has no place"):
        tg.scenario(listed)
    with pytest.raises(TypeError, match="workload has the key 3: keys are strings, like '3'"):
        tg.scenario({"workload": {3: 0.5}})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match=r"3 is no scenario: write a name like 'incast', a path"):
        tg.scenario(3)  # type: ignore[arg-type]
    for function in (tg.scenario, tg.run):
        with pytest.raises(TypeError, match=r"set=3 is no dictionary: write it like set=\{"):
            function("incast", set=3)  # type: ignore[arg-type]


def test_a_dictionary_runs_like_the_file_that_it_is(tmp_path: Path) -> None:
    described = tg.scenario(STAR)
    result = tg.run(described, out=tmp_path / "run")
    file = tmp_path / "mine.toml"
    file.write_text(described.check().toml, "utf-8")
    assert result.fingerprint == tg.run(file).fingerprint
    assert set(result.flows["tag"]) == {"incast", "cross traffic"}
    assert described.resolved["transport"]["dctcp"]["gain"] == 0.125
    compared = tg.compare(described, seeds=2, out=tmp_path / "out")
    assert compared.summaries[0]["fingerprint"] == result.fingerprint
    # The command of the report finds the file again.
    assert list((tmp_path / "out").glob(".tidegate/*/scenario.toml"))


def test_a_path_may_be_a_path(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text(SMALL.check().toml, "utf-8")
    assert isinstance(file, os.PathLike)
    assert tg.scenario(file).check().derived["messages"] == "4"


def test_a_scenario_is_equal_to_its_copies() -> None:
    assert SMALL.resolved["run"]["seed"] == 1
    assert pickle.loads(pickle.dumps(SMALL)) == SMALL == copy.deepcopy(SMALL)  # noqa: S301


def test_a_scenario_keeps_copies_of_what_it_is_made_of() -> None:
    tables = copy.deepcopy(STAR)
    faults = [{"kind": "loss", "link": "* -> *", "chance": 0.001}]
    described = tg.scenario(tables, set={"faults": faults})
    same = copy.deepcopy(described)
    tables["topology"]["hosts"] = 9  # type: ignore[index]
    faults[0]["chance"] = 1.0
    assert described == same
    assert described.start == STAR


def test_what_a_scenario_hands_out_changes_nothing_in_it() -> None:
    described = tg.scenario(STAR, set={"faults": [{"kind": "loss"}]})
    same = copy.deepcopy(described)
    described.start["topology"]["hosts"] = 9  # type: ignore[index]
    described.sets["faults"].clear()  # type: ignore[attr-defined]
    described.sets["run.seed"] = 2
    assert described == same
    SMALL.resolved["run"]["seed"] = 7
    assert SMALL.resolved["run"]["seed"] == 1
    with pytest.raises(AttributeError):
        described.start = "incast"  # type: ignore[misc]


@pytest.mark.parametrize("function", [tg.scenario, tg.run])
def test_a_seed_is_a_whole_number_and_nothing_else(function: Callable[..., object]) -> None:
    for seed in ("2", True, 2.0):
        with pytest.raises(TypeError, match=r"seed=.* is no whole number: write .* like seed=0"):
            function("incast", seed=seed)
    for seed in (-1, 2**63):
        with pytest.raises(ValueError, match=r"seed=.* is out of range: write a whole number"):
            function("incast", seed=seed)


def test_equal_scenarios_have_equal_hashes(tmp_path: Path) -> None:
    turned = tg.scenario(dict(reversed(STAR.items())))
    assert {tg.scenario(STAR), turned, copy.deepcopy(turned)} == {turned}
    assert hash(tg.scenario("web-server", load=1)) == hash(tg.scenario("web-server", load=1.0))
    named = tg.scenario(tmp_path / "a.toml")
    assert {named} == {eval(repr(named), {"scenario": tg.scenario})}  # noqa: S307
    assert SMALL != "incast"


def test_results_and_comparisons_print_as_tables(tmp_path: Path) -> None:
    result = tg.run(SMALL)
    assert str(result).splitlines()[1].split()[:2] == ["transport", "messages"]
    assert result.fingerprint in str(result)
    assert repr(result.flows).startswith("Table(flows: 4 rows of flow_id, ")
    compared = tg.compare(SMALL, transports=["expresspass", "dctcp"], out=tmp_path)
    assert [line.split()[0] for line in str(compared).splitlines()[2:4]] == ["expresspass", "dctcp"]
    for run, summary in zip(compared.results, compared.summaries, strict=True):
        assert run.fingerprint == summary["fingerprint"]
        assert run.flows["size"] == [20_000] * 4
    keyword = tg.compare(SMALL, vary={"fanout": [2, 3]}, out=tmp_path)
    assert [row["workload.senders"] for row in keyword.rows()] == [2, 3]


def test_why_adds_up_to_the_time_in_the_table() -> None:
    result = tg.run(SMALL)
    slowest = result.why()
    assert sum(slowest.parts.values()) == result.flows["fct_ps"][slowest.message]
    assert sum(slowest.parts.values()) == max(t for t in result.flows["fct_ps"] if t)  # type: ignore[type-var]
    assert result.why(2).message == 2
    assert "the way of the last byte" in str(slowest)
    with pytest.raises(tg.RunError, match="no message 4"):
        result.why(4)


def test_a_message_is_a_flow_as_on_the_command_line() -> None:
    result = tg.run(SMALL)
    assert result.why(flow=2) == result.why(message=2)
    assert result.why(flow=0).message == 0
    with pytest.raises(ValueError, match="flow=-1 is out of range"):
        result.why(flow=-1)
    for message, flow in ((1, 1), (0, 2)):
        with pytest.raises(ValueError, match=rf"^message={message} and flow={flow} both name"):
            result.why(message, flow=flow)


@pytest.mark.parametrize("function", [tg.scenario, tg.run, tg.compare])
def test_a_keyword_that_is_almost_right_is_put_right(function: Callable[..., object]) -> None:
    wrong, right = ("sett", "set") if function is not tg.scenario else ("transprt", "transport")
    with pytest.raises(TypeError, match=rf"no keyword '{wrong}'; did you mean '{right}'\?"):
        function("incast", **{wrong: "dctcp"})
    with pytest.raises(TypeError, match="no keyword 'xyzzy'; there are "):
        function("incast", xyzzy=1)


CLASSES = [
    *(value for name in tg.__all__ if inspect.isclass(value := getattr(tg, name))),
    plot.RunPlots,
    plot.ComparisonPlots,
]
METHODS = [
    method
    for of in CLASSES
    for name, method in vars(of).items()
    if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_"))
]
PICTURES = [plot.axes, plot.fct, plot.slowdown, plot.queue, plot.rate]


@pytest.mark.parametrize("called", [*METHODS, *PICTURES], ids=lambda called: called.__qualname__)
def test_whatever_takes_keywords_names_itself_and_those_that_there_are(
    called: Callable[..., object],
) -> None:
    name = called.__qualname__.removesuffix(".__init__")
    first = () if called in PICTURES else (None,)
    takes = [
        parameter.name
        for parameter in [*inspect.signature(called).parameters.values()][len(first) :]
        if parameter.kind is not parameter.VAR_POSITIONAL
    ]
    cure = rf"there (is|are) {', '.join(takes)}" if takes else "it takes none"
    with pytest.raises(TypeError, match=rf"^{name}\(\) has no keyword 'xyzzy'; {cure}$"):
        called(*first, xyzzy=1)


def test_a_method_suggests_keywords_and_shows_its_own() -> None:
    result = tg.Result("out")
    almost = r"^Result\.why\(\) has no keyword 'mesage'; did you mean 'message'\?$"
    with pytest.raises(TypeError, match=almost):
        result.why(mesage=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^Result\(\) has no keyword 'cod'; did you mean 'code'"):
        tg.Result("out", cod=1)  # type: ignore[call-arg]
    assert [*inspect.signature(result.why).parameters] == ["message", "flow", "ladder"]
    assert [*inspect.signature(tg.Result).parameters] == ["path", "code"]
    assert "slowest where none is named" in str(inspect.getdoc(result.why))


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        ({"seeds": -1}, "seeds=-1 is out of range: write a whole number from 1 to 10,000"),
        ({"seeds": 0}, "seeds=0 is out of range"),
        ({"seeds": range(1, 3)}, r"seeds=range\(1, 3\) is no whole number: .* like seeds=1"),
        ({"jobs": -1}, "jobs=-1 is out of range: write a whole number from 1 to 1,024"),
        ({"transports": "dctcp"}, r"transports='dctcp' is no list: .* transports=\['dctcp'\]"),
        ({"vary": {"size": "10KB"}}, r"vary\['size'\]='10KB' is no list"),
        ({"vary": 3}, r"vary=3 is no dictionary: write it like vary=\{'load': \[0.4, 0.6\]\}"),
        ({"set": [1]}, r"set=\[1\] is no dictionary"),
        ({"vary": {"size": []}}, r"vary\['size'\] is empty: write the values to try"),
        ({"vary": {"size": ["1KB", None]}}, r"vary\['size'\]\[1\]: None has no place"),
    ],
)
def test_a_comparison_says_in_the_callers_words_what_is_wrong(
    words: dict[str, object], wrong: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=wrong):
        tg.compare(SMALL, **words)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "both"),
    [
        (
            {"transports": ["dctcp"], "vary": {"transport": ["ndp", "phost"]}},
            r"transports and vary\['transport'\] both set transport.kind",
        ),
        (
            {"transports": ["dctcp", "ndp"], "set": {"transport.kind": "phost"}},
            r"transports and set\['transport.kind'\] both set transport.kind",
        ),
        (
            {"vary": {"fanout": [2, 3], "workload.senders": [4, 5]}},
            r"vary\['fanout'\] and vary\['workload.senders'\] both set workload.senders",
        ),
        (
            {"vary": {"fanout": [2, 3]}, "set": {"workload.0.senders": 5}},
            r"vary\['fanout'\] and set\['workload.0.senders'\] both set workload.0.senders",
        ),
    ],
)
def test_what_a_comparison_is_told_twice_is_refused(words: dict[str, object], both: str) -> None:
    with pytest.raises(ValueError, match=f"{both}, and rows would name values that did not run"):
        tg.compare("incast", **words)  # type: ignore[arg-type]


def test_a_comparison_replaces_what_its_scenario_sets(tmp_path: Path) -> None:
    described = tg.scenario("incast", size="20KB", set={"workload.0.senders": 9})
    compared = tg.compare(
        described, set={"workload.size": "10KB"}, vary={"fanout": [2, 3]}, out=tmp_path
    )
    assert [list(run.flows["size"]) for run in compared.results] == [[10_000] * 2, [10_000] * 3]


def test_numbers_out_of_range_are_refused_in_the_callers_words() -> None:
    for threads in (-1, 0, 10**6):
        with pytest.raises(ValueError, match=rf"threads={threads} is out of range: .* 1,024"):
            tg.run(SMALL, threads=threads)
    result = tg.run(SMALL)
    with pytest.raises(ValueError, match="message=-1 is out of range"):
        result.why(-1)
    with pytest.raises(ValueError, match="ladder=-1 is out of range"):
        result.why(ladder=-1)


@pytest.mark.parametrize("key", ["seed", "run.seed"])
def test_seeds_are_no_setting_that_varies(key: str) -> None:
    with pytest.raises(ValueError, match="write seeds=3"):
        tg.compare(SMALL, vary={key: [1, 2, 3]})


def test_a_list_that_is_set_is_one_value_of_all_runs(tmp_path: Path) -> None:
    faults = [
        {"kind": "loss", "link": "* -> *", "chance": 0.001},
        {"kind": "duplicate", "link": "* -> *", "chance": 0.001},
    ]
    kinds = ["expresspass", "dctcp"]
    told = tg.compare(SMALL, transports=kinds, set={"faults": faults}, out=tmp_path)
    described = tg.scenario(SMALL, set={"faults": faults})
    kept = tg.compare(described, transports=kinds, out=tmp_path)
    for compared in (told, kept):
        assert [run["transport"] for run in compared.summaries] == kinds
        assert "faults" not in compared.rows()[0]


def test_a_dictionary_reads_the_same_files_in_a_comparison_as_in_a_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list.csv").write_text("0,1,10KB,0us\n", "utf-8")
    Path("cdf.txt").write_text("1000 0\n2000 100\n", "utf-8")
    Path("web-server").write_text("no distribution", "utf-8")
    Path("scenario.toml").write_text("# mine\n", "utf-8")
    star = {"kind": "star", "hosts": 4}
    traffic: list[dict[str, object]] = [
        {"kind": "trace", "path": "list.csv"},
        {"kind": "random", "sizes": "cdf.txt", "messages": 5, "load": 0.2},
        {"kind": "random", "sizes": "web-server", "messages": 5, "load": 0.2},
    ]
    tables = {"topology": star, "workload": traffic}
    ran = tg.run(tables)
    for out in ("res", "."):
        compared = tg.compare(tables, out=out)
        assert [run["fingerprint"] for run in compared.summaries] == [ran.fingerprint]
        again = tg.compare(tables, out=out)
        assert again.results[0].path == compared.results[0].path
    assert Path("scenario.toml").read_text("utf-8") == "# mine\n"
