"""Collect the pages of the site in one folder, with links that hold there.

    python docs/site.py target/pages [playground.html]
    python docs/site.py --finish target/site playground.html

The site is docs/, and the pages that live next to what they describe: transports, flow controls,
the driver, the files at the top of the repository. Its first page lists what the README lists. A
link to a file outside the site keeps only its text. When the site is built, the second command
writes what its search reads where pages are opened from a folder, takes out links without a name,
and fails where the playground is not what it was or no page leads to it.
"""

import base64
import json
import posixpath
import re
import shutil
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# Folders of pages, each with its place in the site.
FOLDERS = {"crates/transports/src": "transports", "crates/flow-control/src": "flow-control"}
# Pages outside docs/ and these folders, by their place in the site.
OTHERS = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "STYLE.md": "style.md",
    "crates/drive/README.md": "wire.md",
    "examples/README.md": "examples.md",
    "examples/first-round-trip.ipynb": "first-round-trip.md",
    "examples/fixed-window/src/fixed_window/README.md": "transports/fixed-window.md",
}
# The page that runs. docs/playground.md becomes playground.html.
PLAY = "play.html"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
# What only the site has: the playground lies beside its pages.
SITE_ONLY = re.compile(r"<!-- site: (\S+) -->")
# A link of the first page to a section of the README: the site has the section itself there.
SECTION = re.compile(r"^\[(.+), in the README\]\(\S+\)$", re.MULTILINE)
# The generator puts a link without words before each line of code.
NAMELESS = re.compile(r'<a id="__codelineno-[^>]*></a>')
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def pages() -> dict[str, str]:
    """Every file of the site: where it is in the repository, and where in the site."""
    found = dict(OTHERS)
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.is_file() and path.suffix in {".md", ".svg", ".js", ".css"}:
            found[path.relative_to(ROOT).as_posix()] = path.relative_to(ROOT / "docs").as_posix()
    for folder, place in FOLDERS.items():
        for path in sorted((ROOT / folder).glob("*/*.md")):
            name = path.parent.name if path.stem == "README" else f"{path.parent.name}-{path.stem}"
            found[path.relative_to(ROOT).as_posix()] = f"{place}/{name}.md"
    return found


def moved(text: str, source: str, places: dict[str, str]) -> str:
    """The text of `source` with links between places of the site."""
    here = posixpath.dirname(places[source])

    def link(match: re.Match[str]) -> str:
        picture, words, target, anchor = match.groups("")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        place = places.get(target) or ("index.md" if target == "README.md" else "")
        if not place:
            return words
        return f"{picture}[{words}]({posixpath.relpath(place, here or '.')}{anchor})"

    # Code is kept as it is.
    parts: list[str] = []
    end = 0
    for fence in FENCE.finditer(text):
        parts += [LINK.sub(link, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, LINK.sub(link, text[end:])])


def shared(text: str, places: dict[str, str]) -> str:
    """The first page with sections of the README in the place of links to them."""
    readme = (ROOT / "README.md").read_text("utf-8")

    def section(match: re.Match[str]) -> str:
        _, _, found = readme.partition(f"\n## {match[1]}\n")
        if not found:
            sys.exit(f"docs/index.md: README.md has no section {match[1]}")
        part = found.partition("\n## ")[0].strip()
        return moved(part, "README.md", {**places, "README.md": "index.md"})

    return SECTION.sub(section, text)


def in_motion(text: str, place: str) -> str:
    """The page of a transport with a link that runs an incast, before its first heading."""
    folder, _, name = place.removesuffix(".md").partition("/")
    if folder != "transports" or name == "fixed-window":
        return text
    # A variant's page is named after both: expresspass-aeolus.
    kind = name.replace("-", "%2B").replace("_", "-")
    link = f"../{PLAY}#from=incast&set=transport.kind%3D{kind}"
    words = f"**[See it move]({link})**: 64 hosts send to one, in this browser.\n\n"
    return text.replace("\n## ", f"\n{words}## ", 1)


def lecture(notebook: Path, out: Path) -> str:
    """A notebook as a page: its text, its code, and what came out; pictures beside `out`."""
    cells: list[dict[str, Any]] = json.loads(notebook.read_text("utf-8"))["cells"]
    parts: list[str] = []
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            if picture := output.get("data", {}).get("image/png"):
                name = f"{out.stem}-{sum('![' in part for part in parts) + 1}.png"
                out.with_name(name).write_bytes(base64.b64decode("".join(picture)))
                parts.append(f"![What this draws]({name})")
            else:
                text = "".join(output.get("text", ""))
                parts.append(f"```text\n{text.rstrip()}\n```")
    title, rest = parts[0].split("\n", 1)
    says = f"This page is the notebook `{notebook.relative_to(ROOT)}` as it ran last."
    return "\n\n".join([title, says, rest.strip(), *parts[1:]]) + "\n"


def write(folder: Path, playground: Path | None = None) -> None:
    """Write the site's pages into `folder`, and nothing of an earlier time.

    `playground` is the page that `tidegate playground` wrote; without it nothing leads there.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if playground:
        folder.mkdir(parents=True)
        shutil.copyfile(playground, folder / PLAY)
    places = pages()
    for source, place in places.items():
        out = folder / place
        out.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".md"):
            text = moved((ROOT / source).read_text("utf-8"), source, places)
            if place == "index.md":
                text = shared(text, places)
            if playground:
                text = SITE_ONLY.sub(
                    r"**[Open the playground](\1).** "
                    "It is one file: save it, and it works without this site.",
                    text,
                )
                text = in_motion(text, place)
            out.write_text(text, "utf-8")
        elif source.endswith(".ipynb"):
            out.write_text(lecture(ROOT / source, out), "utf-8")
        else:
            shutil.copyfile(ROOT / source, out)


def index(site: Path) -> None:
    """Write the index of the search as a script: a page in a folder may load that, and no JSON."""
    text = (site / "search.json").read_text("utf-8")
    (site / "search.js").write_text(f"var __index = {text};\n", "utf-8")


def lost(site: Path) -> None:
    """Let the page for what is not there work in a folder, too: links lead from its own place.

    A server shows it at any address, and all is below the server's top.
    """
    page = site / "404.html"
    text = page.read_text("utf-8").replace('="/', '="').replace('"/assets/', '"assets/')
    top = "location.protocol === 'file:' || document.write('<base href=\"/\">');"
    config = "document.getElementById('__config')"
    here = f'{config}.textContent = {config}.textContent.replace(\'"base":"/"\', \'"base":"."\')'
    text = text.replace("<head>", f"<head><script>{top}</script>", 1)
    before, config, after = text.partition('<script id="__config"')
    inside, end, after = after.partition("</script>")
    last = f"<script>if (location.protocol === 'file:') {here};</script>" if config else ""
    page.write_text(f"{before}{config}{inside}{end}{last}{after}", "utf-8")


def named(site: Path) -> None:
    """Take out links without a name: keys stop at each of them, and a reader says nothing of it."""
    for page in site.rglob("*.html"):
        if page != site / PLAY:
            page.write_text(NAMELESS.sub("", page.read_text("utf-8")), "utf-8")


def faults(site: Path, playground: Path) -> list[str]:
    """What keeps a reader of the built site from the playground."""
    played = site / PLAY
    if not played.is_file() or played.read_bytes() != playground.read_bytes():
        return [f"{PLAY} is not the page that tidegate playground wrote"]
    wrong: list[str] = []
    transports = sorted((site / "transports").glob("*.html"))
    doors = [site / "index.html", site / "playground.html", *transports]
    for page in doors:
        if page.stem == "fixed-window":
            continue
        text = page.read_text("utf-8")
        words = "See it move" if page in transports else "Open the playground"
        found = re.search(rf'<a href="([^"#]*)(#from=incast&[^"]*)?">{words}</a>', text)
        name = page.relative_to(site)
        if not found:
            wrong.append(f"{name}: no link says {words}")
        elif (page.parent / found[1]).resolve() != played.resolve():
            wrong.append(f"{name}: {words} leads to {found[1]}")
    return wrong if transports else ["there is no page of a transport"]


if __name__ == "__main__":
    if sys.argv[1] == "--finish":
        index(Path(sys.argv[2]))
        lost(Path(sys.argv[2]))
        named(Path(sys.argv[2]))
        found = faults(*map(Path, sys.argv[2:]))
        sys.exit("\n".join(found) or None)
    else:
        write(*map(Path, sys.argv[1:]))
