"""Every page that a command writes, in Chromium: what is drawn, who can read it and use it.

Each page is shown at three widths, in light and in dark; axe-core looks for what keeps people out.
"""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

PROGRAM = [sys.executable, "-m", "tidegate"]
WIDTHS = (400, 900, 1400)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Tells the page around it what is drawn and what axe-core finds; `best-practice` is advice.
PROBE = """
addEventListener("load", async () => {
  await new Promise((go) => setTimeout(go, 1500));
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const told = {width: innerWidth, dark, problems: [], drawn: 0};
  const root = document.documentElement, wrong = (text) => told.problems.push(text);
  if (root.scrollWidth > innerWidth) wrong(`scrolls sideways: ${root.scrollWidth}`);
  for (const entry of performance.getEntriesByType("resource"))
    if (!/^(blob|data):/.test(entry.name)) wrong("asked for " + entry.name);
  const kinds = "path.line, path.cell, path.box, path.ring, path.half, .bar i, .range i, .lane *";
  for (const figure of document.querySelectorAll("figure[data-points]")) {
    const seen = [...figure.querySelectorAll(kinds)].filter((mark) => {
      const box = mark.getBoundingClientRect();
      return box.width + box.height > 0;
    });
    told.drawn += seen.length;
    if (!seen.length) wrong(`${figure.id}: nothing drawn`);
  }
  for (const node of document.querySelectorAll("button, select, summary, a[href], input")) {
    // Of tabs and of radio buttons one is reached, and arrows lead to the others.
    const one = node.getAttribute("role") === "tab" || node.type === "radio";
    if (node.checkVisibility() && node.tabIndex < 0 && !one)
      wrong("no way there by keys: " + node.outerHTML.slice(0, 80));
  }
  const rules = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"];
  const options = {resultTypes: ["violations"], iframes: false, runOnly: rules};
  for (const {id, nodes} of (await axe.run(document, options)).violations)
    wrong(`${id}: ${nodes.slice(0, 3).map((node) => node.target + " " + node.failureSummary)}`);
  parent.postMessage(told, "*");
});
"""


def browser() -> str:
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI needs a browser: apt-get install chromium")
        pytest.skip("no chromium; apt-get install chromium")
    return found


def axe() -> str:
    package = pytest.importorskip("axe_core_python")
    return resources.files(package).joinpath("axe.min.js").read_text("utf-8")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """One page of every kind, from the commands that people run."""
    folder = tmp_path_factory.mktemp("pages")

    def run(*words: str) -> str:
        done = subprocess.run(
            [*PROGRAM, *words], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    few = ["--set", "workload.senders=12"]
    run("run", "incast", *few, "--live", "--out", "run")
    kinds = "transport.kind=[expresspass,dctcp,homa]"
    said = run("compare", "incast", *few, "--set", kinds, "--seeds", "2", "--out", "runs")
    compared = re.search(r"report: (\S+\.html)", said)
    assert compared, said
    run("new", "mine.toml", "--from", "trace")
    words = ["messages.csv", "--topology", "fabric.graphml", "--seeds", "2", "--out", "advice"]
    said = run("advise", *words, "--transport", "expresspass,dctcp,ndp")
    advised = re.search(r"report: (\S+\.html)", said)
    assert advised, said
    run("playground", "--out", "playground.html")
    names = {
        "run": "run/report.html",
        "live": "run/live.html",
        "compare": compared[1],
        "advise": advised[1],
        "playground": "playground.html",
    }
    return {name: folder / path for name, path in names.items()}


def look(page: Path, *, dark: bool) -> list[dict[str, Any]]:
    """What the page tells of itself at each width."""
    text = page.read_text("utf-8")
    inside = text.replace("</body>", f"<script>{axe()}\n{PROBE}</script></body>")
    shown = page.with_name(f"{page.stem}-probed.html")
    shown.write_text(inside, "utf-8")
    frames = "".join(
        f'<iframe src="{shown.name}" style="width:{width}px;height:3000px"></iframe>'
        for width in WIDTHS
    )
    around = page.with_name(f"{page.stem}-around.html")
    around.write_text(
        '<!doctype html><meta name="color-scheme" content="light dark">'
        "<style>iframe{border:0}</style><pre id=told></pre>"
        "<script>const all = []; addEventListener('message', ({data}) => {"
        "if (!data.problems) return; all.push(data); told.textContent = JSON.stringify(all); });"
        f"</script>{frames}",
        "utf-8",
    )
    done = subprocess.run(
        [
            browser(),
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            f"--blink-settings=preferredColorScheme={int(not dark)}",
            *("--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom"),
            f"--user-data-dir={page.parent / 'profile'}",
            around.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert said == [], f"{page.name}: the console says something"
    told = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert told, done.stderr[-500:]
    return json.loads(html.unescape(told[1]) or "[]")


def test_a_page_in_a_folder_has_workers(tmp_path: Path) -> None:
    folder = Path(__file__).resolve().parents[2] / "docs"
    shutil.copyfile(folder / "folder.js", tmp_path / "folder.js")
    # As the search of the site does it, from both sides.
    inside = "self.onmessage = ({data}) => self.postMessage({got: data.said + 1});"
    (tmp_path / "inside.js").write_text(inside, "utf-8")
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><body><pre id=told></pre><script src=folder.js></script><script>"
        "const worker = new Worker('./inside.js');"
        "worker.onmessage = ({data}) => (told.textContent += data.got);"
        "worker.postMessage({said: 1}); worker.postMessage({said: 6});</script>",
        "utf-8",
    )
    done = subprocess.run(
        [
            browser(),
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            *("--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom"),
            f"--user-data-dir={tmp_path / 'profile'}",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert [line for line in done.stderr.splitlines() if "CONSOLE" in line] == []
    assert '<pre id="told">27</pre>' in done.stdout


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("name", ["run", "live", "compare", "advise", "playground"])
def test_a_page_is_drawn_and_read_and_used_by_everybody(
    pages: dict[str, Path], name: str, colours: str
) -> None:
    dark = colours == "dark"
    told = look(pages[name], dark=dark)
    assert sorted(one["width"] for one in told) == list(WIDTHS)
    for one in told:
        assert one["dark"] == dark
        assert one["problems"] == [], f"{name} at {one['width']} px"
        if name in {"run", "compare"}:
            assert one["drawn"] > 10, f"{name} at {one['width']} px"
