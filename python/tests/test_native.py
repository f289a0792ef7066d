"""The wheel of a release: its command is the program itself, and no Python starts before it."""

import base64
import csv
import hashlib
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ENTRY = "[console_scripts]\ntidegate=tidegate.__main__:main\n"
INFO = "tidegate-9.9.9.dist-info"
PROGRAM = "#!/bin/sh\nexec echo native\n"


def parts(folder: Path, entry: str = ENTRY) -> tuple[Path, Path]:
    folder.mkdir(exist_ok=True)
    meta = "Metadata-Version: 2.1\nName: tidegate\nVersion: 9.9.9\n"
    tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: py3-none-any\n"
    files = {"tidegate/__init__.py": "", f"{INFO}/METADATA": meta, f"{INFO}/WHEEL": tag}
    files |= {f"{INFO}/entry_points.txt": entry, f"{INFO}/RECORD": ""}
    module, program = folder / "tidegate-9.9.9-py3-none-any.whl", folder / "tidegate"
    with zipfile.ZipFile(module, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    program.write_text(PROGRAM, "utf-8")
    return module, program


def join(folder: Path, *parts: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, ROOT / "python/native.py", *parts, folder / "out"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_command_of_a_release_is_the_program_itself(tmp_path: Path) -> None:
    done = join(tmp_path, *parts(tmp_path))
    assert done.returncode == 0, done.stderr
    made = Path(done.stdout.strip())
    with zipfile.ZipFile(made) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert not any(name.endswith("entry_points.txt") for name in names)
        rows = list(csv.reader(io.StringIO(archive.read(f"{INFO}/RECORD").decode())))
        assert [row[0] for row in rows] == names
        for name, digest, size in rows[:-1]:
            content = archive.read(name)
            told = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            assert (digest, size) == (f"sha256={told}", str(len(content)))
    # Where it is installed it runs, and no Python stands before it. Another one here stays.
    installed = tmp_path / "installed"
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    apart = ("--ignore-installed", "--no-index", "--no-deps", "--target", installed)
    subprocess.run([*pip, *apart, made], check=True)
    script = installed / "bin" / "tidegate"
    assert os.access(script, os.X_OK)
    assert script.read_text("utf-8") == PROGRAM


def test_a_wheel_with_another_command_keeps_it(tmp_path: Path) -> None:
    done = join(tmp_path, *parts(tmp_path, ENTRY + "more=tidegate.more:main\n"))
    assert done.returncode == 1
    assert "other entry points" in done.stderr
