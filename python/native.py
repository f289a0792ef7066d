"""Put the program itself into a wheel, in the place of a command that starts Python first.

    python python/native.py MODULE.whl PROGRAM FOLDER

`MODULE.whl` holds the extension module and the Python sources, as maturin builds it. The wheel in
`FOLDER` has its name and everything of it but the entry point, and `PROGRAM` as its script.
"""

import base64
import csv
import hashlib
import io
import sys
import zipfile
from pathlib import Path


def joined(module: Path, program: Path, folder: Path) -> Path:
    """Write the wheel and return where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    out = folder / module.name
    rows: list[tuple[str, str, int | str]] = []
    with (
        zipfile.ZipFile(module) as of,
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as to,
    ):

        def put(one: zipfile.ZipInfo, content: bytes) -> None:
            to.writestr(one, content, zipfile.ZIP_DEFLATED)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            rows.append((one.filename, f"sha256={digest.decode()}", len(content)))

        record = next(name for name in of.namelist() if name.endswith(".dist-info/RECORD"))
        info = record.rpartition("/")[0]
        for one in of.infolist():
            content = of.read(one)
            if one.filename == f"{info}/entry_points.txt":
                if content.split() != b"[console_scripts] tidegate=tidegate.__main__:main".split():
                    sys.exit(f"{module}: it has other entry points than the program's")
            elif one.filename != record:
                put(one, content)
        # The time of the others, so that the same parts give the same wheel; and it may be run.
        script = f"{info.removesuffix('.dist-info')}.data/scripts/tidegate"
        native = zipfile.ZipInfo(script, of.getinfo(record).date_time)
        native.external_attr = 0o100755 << 16
        put(native, program.read_bytes())
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([*rows, (record, "", "")])
        to.writestr(of.getinfo(record), text.getvalue(), zipfile.ZIP_DEFLATED)
    return out


if __name__ == "__main__":
    sys.stdout.write(f"{joined(*map(Path, sys.argv[1:4]))}\n")
