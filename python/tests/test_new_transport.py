"""`tidegate new-transport` from an installed wheel, without the clone that it was built from."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def test_a_wheel_begins_a_transport(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tidegate", "new-transport", "my-own"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    home = tmp_path / "my-own"
    manifest = (home / "Cargo.toml").read_text()
    assert 'path = "tidegate/crates/parts"' in manifest
    assert 'path = "/' not in manifest
    assert not (home / "tidegate/crates/py").exists()
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not there")
    # Moved, it is still whole: every crate is found below it or in the registry.
    moved = home.rename(tmp_path / "elsewhere")
    command = [cargo, "metadata", "--offline", "--format-version", "1"]
    found = subprocess.run(command, cwd=moved, check=True, capture_output=True)
    packages = json.loads(found.stdout)["packages"]
    local = [package for package in packages if package["source"] is None]
    assert len(local) >= 15
    for package in local:
        assert Path(package["manifest_path"]).is_relative_to(moved), package["name"]
