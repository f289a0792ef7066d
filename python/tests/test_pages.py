"""Every page that a command writes, and the site: what Chromium draws, who can read and use it.

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
ROOT = Path(__file__).resolve().parents[2]
WIDTHS = (400, 900, 1400)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Tells the page around it what is drawn and what axe-core finds; `best-practice` is advice.
PROBE = """
addEventListener("load", async () => {
  const OWN = "no folder";
  await new Promise((go) => setTimeout(go, 1500));
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const told = {width: innerWidth, dark, problems: [], drawn: 0};
  const root = document.documentElement, wrong = (text) => told.problems.push(text);
  if (root.scrollWidth > innerWidth) wrong(`scrolls sideways: ${root.scrollWidth}`);
  for (const entry of performance.getEntriesByType("resource"))
    if (!/^(blob|data):/.test(entry.name) && !entry.name.startsWith(OWN))
      wrong("asked for " + entry.name);
  for (const picture of document.querySelectorAll("article img"))
    if (picture.getBoundingClientRect().width < 640) wrong("too small to read: " + picture.src);
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


def shown(page: Path, *, dark: bool = False) -> str:
    """The page after it ran, and said nothing to the console."""
    done = subprocess.run(
        [
            browser(),
            *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
            f"--blink-settings=preferredColorScheme={int(not dark)}",
            *("--enable-logging=stderr", "--virtual-time-budget=20000", "--dump-dom"),
            f"--user-data-dir={page.parent / 'profile'}",
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    # A frame gives no focus to the field of the site's search; a page of its own does.
    said = [line for line in said if "Blocked autofocusing" not in line]
    assert said == [], f"{page.name}: the console says something"
    told = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert told, done.stderr[-500:]
    return html.unescape(told[1])


def look(page: Path, *, dark: bool, own: Path | None = None) -> list[dict[str, Any]]:
    """What the page tells of itself at each width; it may load what is in the folder `own`."""
    text = page.read_text("utf-8")
    probe = PROBE.replace('"no folder"', json.dumps(f"{own.as_uri()}/")) if own else PROBE
    inside = text.replace("</body>", f"<script>{axe()}\n{probe}</script></body>")
    probed = page.with_name(f"{page.stem}-probed.html")
    probed.write_text(inside, "utf-8")
    frames = "".join(
        f'<iframe src="{probed.name}" style="width:{width}px;height:3000px"></iframe>'
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
    return json.loads(shown(around, dark=dark) or "[]")


def test_a_page_in_a_folder_has_workers(tmp_path: Path) -> None:
    shutil.copyfile(ROOT / "docs" / "folder.js", tmp_path / "folder.js")
    # As the search of the site does it, from both sides. Either changes what it has just sent.
    inside = (
        "self.onmessage = ({data}) => { const got = {sum: data.said + 1};"
        "self.postMessage(got); got.sum = 'changed'; data.said = 'changed'; };"
    )
    (tmp_path / "inside.js").write_text(inside, "utf-8")
    page = tmp_path / "page.html"
    page.write_text(
        "<!doctype html><body><pre id=told></pre><script src=folder.js></script><script>"
        "const worker = new Worker('./inside.js'), sent = {said: 1};"
        "worker.onmessage = ({data}) => (told.textContent += `${data.sum} ${sent.said}, `);"
        "worker.postMessage(sent); sent.said = 6; worker.postMessage(sent); sent.said = 9;"
        "</script>",
        "utf-8",
    )
    assert shown(page) == "2 9, 7 9, "


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `./tg site` builds it, with another page in the place of its playground."""
    pytest.importorskip("zensical")
    folder = tmp_path_factory.mktemp("site")
    shutil.copyfile(ROOT / "zensical.toml", folder / "zensical.toml")
    playground = folder / "playground.html"
    playground.write_text("the engine", "utf-8")
    gather = [sys.executable, ROOT / "docs" / "site.py"]
    for command in (
        [*gather, "target/pages", playground],
        [sys.executable, "-m", "zensical", "build"],
        [*gather, "--finish", "target/site", playground],
    ):
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr + done.stdout
    return folder / "target" / "site"


def test_the_search_in_a_folder_keeps_what_is_typed(site: Path) -> None:
    page = site / "typed.html"
    # The field is in a shadow of the page, and has the focus when the search is open.
    typing = """
    <pre id=told></pre><script>
    const wait = (ms) => new Promise((go) => setTimeout(go, ms));
    const field = () => {
      let at = document.activeElement;
      while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
      return at;
    };
    addEventListener("load", async () => {
      await wait(1000);
      document.querySelector(".md-search__button").click();
      await wait(1000);
      for (const letter of "straggler") {
        document.execCommand("insertText", false, letter);
        await wait(500);
        const found = field().getRootNode().textContent.match(/(\\d+) results/);
        told.textContent += `${field().value} ${found?.[1]}\\n`;
      }
    });
    </script></body>"""
    text = (site / "index.html").read_text("utf-8")
    page.write_text(text.replace("</body>", typing), "utf-8")
    lines = [line.split() for line in shown(page).splitlines()]
    assert [typed for typed, _ in lines] == ["straggler"[: i + 1] for i in range(9)]
    found = [int(count) for _, count in lines]
    assert found == sorted(found, reverse=True)
    assert 0 < found[-1] < found[0]


def test_a_picture_in_motion_stands_when_it_is_asked(site: Path) -> None:
    page = site / "transports" / "stands.html"
    asking = """
    <pre id=told></pre><script>
    const wait = (ms) => new Promise((go) => setTimeout(go, ms));
    addEventListener("load", async () => {
      const button = document.querySelector("article button.still");
      const picture = document.querySelector("article img");
      const says = () => {
        const pressed = button.getAttribute("aria-pressed"), drawn = picture.naturalWidth > 0;
        const name = picture.src.split("/").pop();
        told.textContent += `${button.textContent}, ${pressed}, ${name}, ${drawn}\\n`;
      };
      await wait(500);
      says();
      for (let i = 0; i < 2; i++) { button.click(); await wait(500); says(); }
    });
    </script></body>"""
    text = (site / "transports" / "homa.html").read_text("utf-8")
    page.write_text(text.replace("</body>", asking), "utf-8")
    assert shown(page).splitlines() == [
        "Let it stand, false, homa.svg, true",
        "Let it move, true, homa.svg#still, true",
        "Let it stand, false, homa.svg, true",
    ]


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize(
    "name", ["index", "data", "figures/index", "first-round-trip", "transports/ndp"]
)
def test_the_site_is_read_and_used_by_everybody(site: Path, name: str, colours: str) -> None:
    told = look(site / f"{name}.html", dark=colours == "dark", own=site)
    assert sorted(one["width"] for one in told) == list(WIDTHS)
    for one in told:
        assert one["dark"] == (colours == "dark")
        assert one["problems"] == [], f"{name} at {one['width']} px"


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
