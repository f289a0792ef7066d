"""The transcripts in the documents: every command is run, every line compared.

A block that begins with ```console holds commands after "$ ", what they print, and "? N" after a
command that ends with exit code N. Blocks of ```python are one session per page; what one prints
stands behind it in a block of ```text. What stands in a block after `<!-- file NAME -->` is a file
where commands run. `TIDEGATE_UPDATE=1` writes what comes out into the page.
"""

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.DOTALL | re.MULTILINE)
# A file that the commands of its page find: its name in a comment before a block of text.
FILE = re.compile(r"^<!-- file (\S+) -->\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Optional: the libraries that a block needs, and what it printed.
PYTHON = re.compile(
    r"(?:^<!-- needs (?P<needs>[\w, ]+) -->\n)?^```python\n(?P<code>.*?)^```\n"
    r"(?:\n```text\n(?P<said>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
# A process of its own: libraries warn, start processes and clean up when it ends.
SESSION = """
import contextlib, io, json, sys
session, said = {"__name__": "session"}, []
for code in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(code, "<page>", "exec"), session)
    said.append(out.getvalue())
print(json.dumps(said))
"""
# The command of this environment, not another one on PATH.
PROGRAM = [sys.executable, "-m", "tidegate"]


def transcript(commands: list[str], folder: Path) -> str:
    """Run commands of one block and write the block anew."""
    lines: list[str] = []
    for command in commands:
        words = shlex.split(command)
        assert words[0] == "tidegate", command
        done = subprocess.run(
            [*PROGRAM, *words[1:]],
            cwd=folder,
            env={**os.environ, "NO_COLOR": "1", "COLUMNS": "110"},
            capture_output=True,
            text=True,
            check=False,
        )
        lines.append(f"$ {command}")
        lines += [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
        if done.returncode:
            lines.append(f"? {done.returncode}")
    return "".join(f"{line}\n" for line in lines)


def test_the_reference_is_what_the_program_says() -> None:
    page = DOCS / "reference.md"
    done = subprocess.run(
        [*PROGRAM, "schema", "--markdown"], capture_output=True, text=True, check=True
    )
    if os.environ.get("TIDEGATE_UPDATE"):
        page.write_text(done.stdout, "utf-8")
    assert done.stdout == page.read_text("utf-8"), "write it anew with ./tg docs"


def test_the_page_of_commands_is_what_the_program_says() -> None:
    page = DOCS / "commands.md"
    done = subprocess.run(
        [*PROGRAM, "schema", "--commands"], capture_output=True, text=True, check=True
    )
    if os.environ.get("TIDEGATE_UPDATE"):
        page.write_text(done.stdout, "utf-8")
    assert done.stdout == page.read_text("utf-8"), "write it anew with ./tg docs"


def test_the_page_of_data_is_what_the_program_says() -> None:
    page = DOCS / "data.md"
    done = subprocess.run(
        [*PROGRAM, "schema", "--data"], capture_output=True, text=True, check=True
    )
    if os.environ.get("TIDEGATE_UPDATE"):
        page.write_text(done.stdout, "utf-8")
    assert done.stdout == page.read_text("utf-8"), "write it anew with ./tg docs"


def test_the_page_of_experiments_is_what_the_program_says() -> None:
    page = DOCS / "experiments.md"
    done = subprocess.run(
        [*PROGRAM, "reproduce", "--list", "--markdown"],
        cwd=DOCS.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    if os.environ.get("TIDEGATE_UPDATE"):
        page.write_text(done.stdout, "utf-8")
    assert done.stdout == page.read_text("utf-8"), "write it anew with ./tg docs"


def test_the_gallery_is_what_the_results_on_record_draw(tmp_path: Path) -> None:
    gallery = DOCS / "figures"
    out = gallery if os.environ.get("TIDEGATE_UPDATE") else tmp_path
    subprocess.run([*PROGRAM, "reproduce", "--gallery", "--out", out], cwd=DOCS.parent, check=True)
    drawn = {path.name: path.read_text("utf-8") for path in out.iterdir()}
    assert len(drawn) > 30
    assert drawn == {path.name: path.read_text("utf-8") for path in gallery.iterdir()}, (
        "draw it anew with ./tg docs"
    )


def test_every_page_of_the_site_is_in_its_navigation(tmp_path: Path) -> None:
    subprocess.run([sys.executable, DOCS / "site.py", tmp_path], check=True)
    pages = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.md")}
    # Decisions are listed on a page of their own.
    pages = {page for page in pages if not re.match(r"adr/\d", page)}
    listed = re.findall(r'= "([\w/-]+\.md)"', (ROOT / "zensical.toml").read_text("utf-8"))
    assert sorted(listed) == sorted(pages)
    assert "transports/expresspass.md" in pages


def test_both_doors_list_the_same(tmp_path: Path) -> None:
    subprocess.run([sys.executable, DOCS / "site.py", tmp_path], check=True)
    link = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")

    def listed(door: Path) -> dict[str, tuple[str, int]]:
        """What each section says, and to how many pages it leads."""
        _, *sections = re.split(r"^## (.+)$", door.read_text("utf-8"), flags=re.MULTILINE)
        return {
            title: (link.sub(r"\1", text).strip(), len(re.findall(r"\.(?:md|ipynb)[#)]", text)))
            for title, text in zip(sections[::2], sections[1::2], strict=True)
        }

    readme, site = listed(ROOT / "README.md"), listed(tmp_path / "index.md")
    assert list(site) == ["Packages", "Documents", "What exists"]
    for title, (text, pages) in site.items():
        said, led = readme[title]
        assert text.endswith(said), title
        assert pages == led > 0, title


def test_the_page_of_a_transport_leads_to_where_it_moves(tmp_path: Path) -> None:
    playground = tmp_path / "playground.html"
    playground.write_text("the engine", "utf-8")
    site = tmp_path / "site"
    subprocess.run([sys.executable, DOCS / "site.py", site, playground], check=True)
    pages = sorted((site / "transports").glob("*.md"))
    link = re.compile(r"\((\S*\.html)#from=incast&set=([^)]*)\)")
    found = [link.findall(page.read_text("utf-8")) for page in pages if page.stem != "fixed-window"]
    assert len(found) > 15
    assert {len(links) for links in found} == {1}
    for [(target, _)] in found:
        assert (site / "transports" / target).read_text("utf-8") == "the engine"
    settings = [unquote(links[0][1]) for links in found]
    assert len(set(settings)) == len(settings)
    for setting in settings:
        known = subprocess.run([*PROGRAM, "check", "incast", "--set", setting], check=False)
        assert known.returncode == 0, setting


def test_every_transport_moves_on_its_page_as_it_does_in_a_run(tmp_path: Path) -> None:
    subprocess.run([sys.executable, DOCS / "pictures/motion.py", tmp_path], check=True)
    drawn = {path.name: path.read_text("utf-8") for path in tmp_path.glob("*.svg")}
    kept = {path.name: path.read_text("utf-8") for path in (DOCS / "pictures/motion").glob("*.svg")}
    assert kept == drawn, "./tg docs draws them anew"
    pages = [page.read_text("utf-8") for page in (ROOT / "crates/transports/src").glob("*/*.md")]
    shown = [re.findall(r"/docs/pictures/motion/(\S+\.svg)\)", page) for page in pages]
    assert sorted(name for names in shown for name in names) == sorted(drawn)
    listed = subprocess.run([*PROGRAM, "list", "transports"], capture_output=True, check=True)
    known = re.findall(r"^ *([a-z]\S*)  ", listed.stdout.decode(), re.MULTILINE)
    assert {f"{name.replace('+', '-')}.svg" for name in known} == {*drawn}
    for name, picture in drawn.items():
        # Packets of each sender move; without motion, and without a script, it stands.
        moves = set(re.findall(r"animation-name:(p\d+)", picture))
        assert len(moves) >= 3 * 33, name
        assert moves <= set(re.findall(r"@keyframes (p\d+)", picture)), name
        assert "(prefers-reduced-motion: reduce)" in picture, name
        assert "<script" not in picture, name
        assert not re.search(r"(?<!xmlns=\")https?://", picture), name
        assert max(map(float, re.findall(r"([\d.]+)%", picture))) <= 100, name
        # Some are under way in the picture that stands.
        still = list(re.findall(r"<circle class=\"m [^>]*>", picture))
        assert any("opacity" not in dot for dot in still), name


def test_the_lecture_is_a_page_with_what_came_out(tmp_path: Path) -> None:
    subprocess.run([sys.executable, DOCS / "site.py", tmp_path], check=True)
    page = (tmp_path / "first-round-trip.md").read_text("utf-8")
    pictures = re.findall(r"!\[[^\]]+\]\((\S+)\)", page)
    assert len(set(pictures)) == 5
    for picture in pictures:
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    assert re.search(r"^expresspass\+ssp .* scheduled$", page, re.MULTILINE)
    assert "](first-round-trip.md)" in (tmp_path / "examples.md").read_text("utf-8")


def test_no_page_of_the_site_takes_the_place_of_another_file(tmp_path: Path) -> None:
    playground, site = tmp_path / "playground.html", tmp_path / "site"
    playground.write_text("the engine", "utf-8")
    subprocess.run([sys.executable, DOCS / "site.py", site, playground], check=True)
    files = [path.relative_to(site) for path in site.rglob("*") if path.is_file()]
    built = [path.with_suffix(".html") if path.suffix == ".md" else path for path in files]
    # An index of a folder may be called README.
    built = [path.with_name("index.html") if path.stem == "README" else path for path in built]
    assert [path for path in built if built.count(path) > 1] == []
    assert (site / "play.html").read_text("utf-8") == "the engine"


def test_a_site_without_a_way_to_its_playground_is_no_site(tmp_path: Path) -> None:
    playground, site = tmp_path / "written.html", tmp_path / "site"
    playground.write_text("the engine", "utf-8")
    (site / "transports").mkdir(parents=True)
    (site / "search.json").write_text('{"items": []}', "utf-8")
    (site / "play.html").write_text("the engine", "utf-8")
    for name in ("index.html", "playground.html"):
        (site / name).write_text('<a href="play.html">Open the playground</a>', "utf-8")
    moves = '<a href="{}#from=incast&amp;set=transport.kind%3Ddctcp">See it move</a>'
    page = site / "transports" / "dctcp.html"
    lost = '<head><link href="/site.css"><script id="__config">{"base":"/"}</script><script>1'
    (site / "404.html").write_text(lost, "utf-8")

    def finish() -> str | None:
        done = subprocess.run(
            [sys.executable, DOCS / "site.py", "--finish", site, playground],
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stderr.strip() if done.returncode else None

    page.write_text(moves.format("../play.html"), "utf-8")
    assert finish() is None
    # Where pages are opened from a folder, the search reads a script.
    assert (site / "search.js").read_text("utf-8") == 'var __index = {"items": []};\n'
    lost = (site / "404.html").read_text("utf-8")
    assert 'href="site.css"' in lost
    assert lost.index("<base ") < lost.index("<link") < lost.index('"base":"."')
    page.write_text(moves.format("../playground.html"), "utf-8")
    assert finish() == "transports/dctcp.html: See it move leads to ../playground.html"
    page.write_text("", "utf-8")
    assert finish() == "transports/dctcp.html: no link says See it move"
    (site / "play.html").write_text("a document", "utf-8")
    assert finish() == "play.html is not the page that tidegate playground wrote"


def test_the_current_entry_of_the_navigation_can_be_read() -> None:
    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), parts, strict=True))

    style = (DOCS / "site.css").read_text("utf-8")
    # The ground of the entry as Chromium computes it, from the theme's colours.
    for scheme, ground in [("default", "eef0ff"), ("slate", "121627")]:
        set_to = re.search(rf'"{scheme}"\] {{\s*--current: #(\w{{6}})', style)
        assert set_to, scheme
        low, high = sorted([light(set_to[1]), light(ground)])
        assert (high + 0.05) / (low + 0.05) >= 4.5
    assert "link--active {\n  color: var(--current)" in style


def test_links_of_the_site_lead_to_its_pages(tmp_path: Path) -> None:
    subprocess.run([sys.executable, DOCS / "site.py", tmp_path], check=True)
    links = [
        (page, target)
        for page in tmp_path.rglob("*.md")
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text("utf-8"))
    ]
    assert len(links) > 50
    assert [link for link in links if not (link[0].parent / link[1]).exists()] == []


@pytest.mark.parametrize(
    "page",
    [
        "docs/tutorial.md",
        "docs/howto.md",
        "docs/migration/hpcc.md",
        "docs/migration/htsim.md",
        "docs/playground.md",
        "docs/why.md",
        "crates/transports/src/dctcp/README.md",
        "crates/transports/src/expresspass/README.md",
        "crates/transports/src/expresspass/aeolus.md",
    ],
)
def test_every_transcript_is_what_comes_out(page: str, tmp_path: Path) -> None:
    path = ROOT / page
    text = path.read_text("utf-8")
    for name, content in FILE.findall(text):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(content, "utf-8")

    def rerun(block: re.Match[str]) -> str:
        commands = [line[2:] for line in block[0].splitlines() if line.startswith("$ ")]
        return transcript(commands, tmp_path)

    fresh = BLOCK.sub(rerun, text)
    if os.environ.get("TIDEGATE_UPDATE"):
        path.write_text(fresh, "utf-8")
        return
    assert fresh == text, "write it anew with ./tg docs, and say in the commit what moved"


@pytest.mark.parametrize("page", ["docs/python.md", "docs/tutorial.md", "README.md"])
def test_every_session_prints_what_the_page_says(page: str, tmp_path: Path) -> None:
    path = ROOT / page
    text = path.read_text("utf-8")
    blocks = list(PYTHON.finditer(text))
    needs: list[set[str]] = [set(re.findall(r"\w+", block["needs"] or "")) for block in blocks]
    absent = {name for name in set[str]().union(*needs) if importlib.util.find_spec(name) is None}
    # The others form the session: no later block uses what one that is left out has made.
    here = [block for block, names in zip(blocks, needs, strict=True) if not names & absent]
    done = subprocess.run(
        [sys.executable, "-c", SESSION],
        input=json.dumps([block["code"] for block in here]),
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = dict(zip(here, json.loads(done.stdout.splitlines()[-1]), strict=True))

    def rerun(block: re.Match[str]) -> str:
        if block["needs"] and set(re.findall(r"\w+", block["needs"])) & absent:
            return block[0]
        code = block[0].partition("\n\n```text\n")[0].rstrip("\n")
        [out] = [out for of, out in said.items() if of.start() == block.start()]
        lines = "".join(f"{line.rstrip()}\n" for line in out.splitlines())
        return f"{code}\n\n```text\n{lines}```\n" if lines else f"{code}\n"

    fresh = PYTHON.sub(rerun, text)
    if os.environ.get("TIDEGATE_UPDATE"):
        path.write_text(fresh, "utf-8")
        return
    assert fresh == text, "write it anew with ./tg docs, and say in the commit what moved"
    if absent:
        pytest.skip(f"the other blocks hold; not installed: {', '.join(sorted(absent))}")
