"""What a notebook shows: tables with names and units, the report, a bar while a run is on."""

import sys
from html.parser import HTMLParser
from operator import methodcaller
from pathlib import Path
from types import SimpleNamespace

import pytest

import tidegate as tg
from tidegate._compare import Advice, Verdict
from tidegate._html import kinds

ROOT = Path(__file__).parents[2]

SMALL = {"workload.senders": 4, "workload.size": "20KB"}


def html(shown: object) -> str:
    """What a notebook asks a value for."""
    return str(methodcaller("_repr_html_")(shown))


class _Parts(HTMLParser):
    """Tables, pages and texts of some HTML; what is opened must be closed."""

    def __init__(self, shown: object) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.rows = 0
        self.pages: list[str] = []
        self.feed(html(shown))
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.rows += tag == "tr"
        self.pages += [value or "" for name, value in attrs if name == "srcdoc"]
        if tag in {"td", "th"}:
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"td", "th"}:
            self.cells[-1] += data

    def after(self, name: str) -> str:
        return self.cells[self.cells.index(name) + 1]


def test_a_result_shows_its_figures_and_its_report() -> None:
    result = tg.run("incast", set=SMALL)
    shown = _Parts(result)
    assert shown.after("fingerprint") == result.fingerprint
    assert shown.after("messages") == "4, 0 of them unfinished"
    slowest = max(fct for fct in result.flows["fct_ps"] if isinstance(fct, int))
    number, unit = shown.after("completion p99").split()
    assert unit == "us"
    assert float(number) == pytest.approx(slowest / 1e6, rel=0.006)
    assert shown.pages == [result.report.read_text("utf-8")]


def test_what_did_not_finish_is_no_figure_and_no_status(tmp_path: Path) -> None:
    cut = {**SMALL, "run.until": "8us"}
    shown = _Parts(tg.run("incast", set=cut))
    assert shown.after("completion p99").startswith("≥ ")
    assert shown.after("status, seed") == "ended with 4 unfinished, 1"
    compared = _Parts(tg.compare("incast", set=cut, out=tmp_path))
    assert sum(cell.startswith("≥ ") for cell in compared.cells) == 4


def test_a_table_shows_its_first_rows_and_says_how_many_there_are() -> None:
    result = tg.run("incast", set={"workload.senders": 30, "workload.size": "5KB"})
    shown = _Parts(result.flows)
    assert shown.rows == 1 + 20
    assert shown.cells[: len(result.flows)] == list(result.flows)
    assert "30 rows, the first 20" in html(result.flows)
    first = dict(zip(result.flows, shown.cells[len(result.flows) :], strict=False))
    assert (first["size"], first["src"]) == ("5 KB", f"h{result.flows['src'][0]}")
    assert first["fct_ps"].endswith(" us")


def test_hosts_go_by_the_names_of_their_fabric_and_many_tags_are_folded(tmp_path: Path) -> None:
    hosts = ("gpu7", "store", "cpu,1")
    data = '<data key="r">100Gbps</data><data key="d">1us</data>'
    edges = "".join(f'<edge source="{name}" target="sw">{data}</edge>' for name in hosts)
    nodes = "".join(f'<node id="{name}"/>' for name in (*hosts, "sw"))
    keys = "".join(
        f'<key id="{name[0]}" for="edge" attr.name="{name}" attr.type="string"/>'
        for name in ("rate", "delay")
    )
    (tmp_path / "fabric.graphml").write_text(
        f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{keys}'
        f'<graph edgedefault="undirected">{nodes}{edges}</graph></graphml>'
    )
    lines = [f'"cpu,1",gpu7,{i + 1}KB,{i}us,job{i}\n' for i in range(30)]
    (tmp_path / "list.csv").write_text("src,dst,size,start,tag\n" + "".join(lines))
    started = {
        "name": "named",
        "topology": {"kind": "file", "path": str(tmp_path / "fabric.graphml")},
        "workload": {"kind": "trace", "path": str(tmp_path / "list.csv")},
    }
    result = tg.run(started)
    assert sorted(map(str, result.hosts["name"])) == ["cpu,1", "gpu7", "store"]
    shown = _Parts(result.flows)
    first = dict(zip(result.flows, shown.cells[len(result.flows) :], strict=False))
    assert (first["src"], first["dst"]) == ("cpu,1", "gpu7")
    said = html(result)
    assert "the 20 slowest of 30" in said
    assert said.index("job29") > 0
    assert "<summary>10 more tags</summary>" in said


def test_advice_on_many_parts_is_folded() -> None:
    parts = [Verdict(f"p99 slowdown, tag {i}", ["homa"], "1.00", ["1.00"]) for i in range(25)]
    advice = Advice("homa.", "", "homa", ["homa"], parts, [], [], None)
    shown = html(advice)
    assert shown.index("tag 19") < shown.index("<summary>5 more parts</summary>")
    assert shown.index("<summary>5 more parts</summary>") < shown.index("tag 20")
    few = html(Advice("homa.", "", "homa", ["homa"], parts[:20], [], [], None))
    assert "<details>" not in few


def test_columns_have_the_units_that_the_data_dictionary_gives_them() -> None:
    text = (ROOT / "docs/data.md").read_text("utf-8")
    units = {"ps": "time", "B": "size", "bit/s": "rate"}
    tables = text.split("\n## Documents")[0].split("\n### `")[1:]
    told: dict[str, dict[str, str]] = {}
    for table in tables:
        rows = [
            line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")
        ]
        told[table.split("`")[0]] = {
            row[0].strip("`"): units.get(row[2].strip(), "") for row in rows
        }
    assert sum(map(len, told.values())) > 60
    assert {table: kinds(table) for table in told} == told
    assert kinds("ports-window") == told["ports"]


def test_why_check_and_comparison_show_themselves(tmp_path: object) -> None:
    result = tg.run("incast", set=SMALL)
    why = result.why()
    parts = _Parts(why)
    largest = max(why.parts, key=lambda part: why.parts[part])
    assert parts.after(largest).endswith("us")
    assert parts.after("in all").endswith("us")
    check = tg.scenario("incast").check()
    assert _Parts(check).after("base RTT") == check.derived["base RTT"]
    compared = tg.compare(
        "incast", transports=["expresspass", "dctcp"], set=SMALL, out=f"{tmp_path}/out"
    )
    shown = _Parts(compared)
    assert shown.rows == 1 + 2
    assert {"expresspass", "dctcp"} <= {*shown.cells}
    assert shown.pages == [compared.report.read_text("utf-8")]


def test_what_a_scenario_says_is_text_and_no_markup() -> None:
    named = {"name": "a", "title": "<b>&amp;", "workload": {"kind": "incast", "senders": 4}}
    check = tg.scenario(named).check()
    assert "&lt;b&gt;&amp;amp;" in html(check)
    assert "<b>" not in html(check)


def notebook(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Stand in for a notebook, and take down what it shows that changes."""
    shown: list[str] = []

    def display(what: object, *, display_id: bool) -> object:
        assert display_id
        shown.append(html(what))

        def update(new: object) -> None:
            shown.append(html(new))

        return SimpleNamespace(update=update)

    kernel = SimpleNamespace(
        get_ipython=lambda: SimpleNamespace(kernel=1), display=SimpleNamespace(display=display)
    )
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    return shown


def test_a_comparison_in_a_notebook_has_a_bar_of_its_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown = notebook(monkeypatch)
    monkeypatch.setattr("tidegate._html.BAR_AFTER", 0)
    monkeypatch.setattr("tidegate._run._POLLED", 0.01)
    small, three = {"workload.size": "20KB"}, {"workload.senders": [2, 3, 4]}
    compared = tg.compare("incast", seeds=2, set=small, vary=three, out=tmp_path)
    assert len(compared.summaries) == 6
    assert "6 of 6 runs" in shown[-1]
    assert len(shown) > 2, "it was looked at meanwhile"


def test_a_notebook_gets_a_bar_and_a_script_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = notebook(monkeypatch)
    tg.run("incast", set=SMALL)
    assert not shown, "a short run shows no bar"
    monkeypatch.setattr("tidegate._html.BAR_AFTER", 0)
    with_bar = tg.run("incast", set=SMALL)
    assert shown
    assert "of 4 messages" in shown[-1]
    before = len(shown)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=SimpleNamespace))
    assert tg.run("incast", set=SMALL).fingerprint == with_bar.fingerprint
    assert len(shown) == before
