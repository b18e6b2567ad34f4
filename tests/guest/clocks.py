# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks what clocks.sh recorded: clocks.py ROUNDS EVENTS MANIFEST CLOCK-OF-A CLOCK-OF-B. Prints what is wrong,
and figures."""
import json
import sys

rounds = int(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as lines:
    events = [event for event in map(json.loads, lines) if "event" in event]
clocks = []
for path in sys.argv[4:]:
    with open(path, encoding="utf-8") as text:
        clocks.append(json.load(text))
with open(sys.argv[3], encoding="utf-8") as text:
    points = [machine["clock"] for machine in json.load(text)["machines"]]
wrong = []


def expect(holds, *what):
    if not holds:
        wrong.append(" ".join(map(str, what)))


by_machine = [[event for event in events if event["machine"] == name] for name in "ab"]
expect([len(one) for one in by_machine] == [rounds, rounds], "events:", [len(one) for one in by_machine])
expect([event["ts"] for event in events] == sorted(event["ts"] for event in events), "the report is not in order")
# The true order: a, b, a, b, ...
true = [event for pair in zip(*by_machine) for event in pair]
n_certain = 0
for i, (one, two) in enumerate(zip(true, true[1:])):
    apart, bounds = two["ts"] - one["ts"], one["bound"] + two["bound"]
    expect(apart > -bounds, "pair", i, "is wrong by more than its bounds:", apart, bounds)
    is_marked = bool((one if apart < 0 else two).get("uncertain"))
    expect(is_marked or apart > 0, "pair", i, "is in the wrong order without a mark:", apart, bounds)
    expect(is_marked or apart >= bounds, "pair", i, "is closer than its bounds, without a mark:", apart, bounds)
    n_certain += not is_marked
    print(f"# {one['machine']} to {two['machine']}: {apart / 1e6:.1f} ms, bounds {bounds / 1e6:.1f} ms"
          f"{', not certain' if is_marked else ''}")
# A second apart is certain.
expect(n_certain >= rounds - 1, "only", n_certain, "pairs are certain")
# Otherwise the clocks did not differ, and the test shows nothing.
for one, expected in zip(points, (10000, 0)):
    rate = (one[-1]["mono"] - one[0]["mono"]) / max(one[-1]["at"] - one[0]["at"], 1) * 1e6
    expect(abs(rate - expected) < 1000, "a clock is fast by", rate, "ppm, expected", expected)
# A guest reads its clock when it boots, which may take minutes on a busy machine.
for clock, offset in zip(clocks, (3600, 0)):
    expect(clock and abs(clock["offset-usec"] / 1e6 - offset) < 600 and clock["comparisons"] >= 2, "clock", clock)
    print("#", json.dumps(clock))
for line in wrong:
    print("#", line)
sys.exit(bool(wrong))
