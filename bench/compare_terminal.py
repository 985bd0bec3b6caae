"""How fast short lines pass through the pseudo-terminal that `idleburn run` puts between a command and the user's
terminal, beside the same command alone. Both write to a terminal of this program's, which reads all and shows nothing.

Usage: compare_terminal.py BUILD_DIR PAIRS MEGABYTES. The two run in turn (A B B A), and a pair is one observation. `seq`
writes each line with a call of its own there, as most programs do. Exits with 0 unless something could not run.
"""

import os
import pty
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

GOAL = 0.9
LINE_BYTES = 20  # "line 100000000000\r\n" and so on


def megabytes_per_second(command, environment):
    """Of what comes out of the terminal, from the first byte to the last: starting and reporting is not meant here."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, env=environment,
                               close_fds=True)
    os.close(theirs)
    shown, first, last = 0, None, None
    while True:
        try:
            block = os.read(ours, 1 << 16)
        except OSError:  # nobody has the terminal any more
            break
        if not block:
            break
        last = time.monotonic()
        first = first or last
        shown += len(block)
    os.close(ours)
    if process.wait() != 0 or first is None or last == first:
        sys.exit(f"{command[0]} ended with {process.returncode}")
    return shown / 1e6 / (last - first)


def main():
    build, pairs, megabytes = Path(sys.argv[1]).resolve(), int(sys.argv[2]), int(sys.argv[3])
    lines = megabytes * 1_000_000 // LINE_BYTES
    alone = ["seq", "-f", "line %.0f", str(10**11), str(10**11 + lines)]
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, XDG_DATA_HOME=folder)
        beside = [str(build / "idleburn"), "run", "--quiet", "--no-history", "--no-recording", "--"] + alone
        ratios, speeds = [], ([], [])
        for pair in range(pairs):
            order = (0, 1) if pair % 2 == 0 else (1, 0)
            speed = [0.0, 0.0]
            for which in order:
                speed[which] = megabytes_per_second((alone, beside)[which], environment)
            for which in order:
                speeds[which].append(speed[which])
            ratios.append(speed[1] / speed[0])
    ratios.sort()
    table = (f"| pairs | alone MB/s | with idleburn MB/s | ratio | least and greatest | goal |\n|---|---|---|---|---|---|\n"
             f"| {pairs} | {statistics.median(speeds[0]):.1f} | {statistics.median(speeds[1]):.1f} | "
             f"{statistics.median(ratios):.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} | >= {GOAL} |\n")
    print(table)
    out = build.parent / "bench"
    out.mkdir(exist_ok=True)
    (out / "terminal.md").write_text(table)


main()
