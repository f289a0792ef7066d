"""How does the tail of short messages grow with the load, under each transport?

Run it with tidegate[plot] installed: `python examples/transports_over_load.py load.png`. Finished
runs are in `out/` and are not repeated: add a load or a seed, and only the new runs start.
"""

from __future__ import annotations

import sys

import matplotlib.pyplot as plt

import tidegate as tg

TRANSPORTS = ["expresspass", "expresspass+aeolus", "dctcp"]


def main(picture: str) -> None:
    """Run Web Server traffic at four loads with three seeds each, and draw two panels."""
    compared = tg.compare(
        tg.scenario("web-server", messages=1000),
        transports=TRANSPORTS,
        vary={"load": [0.2, 0.4, 0.6, 0.8]},
        seeds=3,
    )
    print(compared)

    _, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    compared.plot.slowdown(ax=left).set(title="Slowest hundredth of the messages")
    compared.plot.queue(ax=right).set(title="Longest queue of any port")
    left.figure.savefig(picture, dpi=150)
    print(f"picture: {picture}    report: {compared.report}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "load.png")
