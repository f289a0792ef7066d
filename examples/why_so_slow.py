"""Why was the slowest message slow, and what would help it?

Run it with tidegate installed: `python examples/why_so_slow.py`. It splits the completion time of
the slowest message into parts that add up to the picosecond, under several transports.
"""

from __future__ import annotations

import tidegate as tg

TRANSPORTS = ["expresspass", "expresspass+aeolus", "dctcp"]
# What the parts of `tidegate why` are called in its text.
NAMES = {"credit": "waiting for credit"}
WIDTH = 40


def main() -> None:
    """Run one incast under each transport and take its slowest message apart."""
    incast = tg.scenario("incast", fanout=32, size="20KB")
    whys = {name: tg.run(tg.scenario(incast, transport=name)).why() for name in TRANSPORTS}

    for name, why in whys.items():
        took = sum(why.parts.values())
        print(f"{name}: message {why.message} took {took / 1e6:,.1f} us")
        for part, spent in sorted(why.parts.items(), key=lambda item: -item[1]):
            if spent:
                bar = "#" * round(WIDTH * spent / took)
                print(f"  {NAMES.get(part, part):20} {spent / 1e6:10,.1f} us  {bar}")
        print()

    # The whole story of one of them: the way of its last byte, then its packets.
    print(whys["expresspass+aeolus"])


if __name__ == "__main__":
    main()
