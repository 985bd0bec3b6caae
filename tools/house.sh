#!/usr/bin/env bash
# How large the house is: files and lines of the product (src/ without tests), of cli/, and how much of it is comments.
#   tools/house.sh [--compile BUILD_DIR]   --compile: also the processor seconds of compiling the product from nothing,
#                                          by the commands of BUILD_DIR/compile_commands.json; a few minutes
#   HOUSE_SINCE=COMMIT                     also how many goldens changed since then
set -euo pipefail
cd "$(dirname "$0")/.."

exec python3 - "$@" <<'PYTHON'
import json, os, pathlib, re, resource, shlex, statistics, subprocess, sys

PAIR = re.compile(r"^\s*if \(!(\w+)\) return tl::unexpected<Error>\((?:std::move\()?\1\)?\.error\(\)\);")


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


def pairs_in(lines):
    """Results that are declared, and in the next statement their error returned."""
    found = 0
    for i, line in enumerate(lines):
        check = PAIR.match(line)
        first = i - 1
        while check and first > 0 and not re.search(r"[;{}]", lines[first - 1]):
            first -= 1
        declared = check and rf"^\s*(const )?(auto|Result<.*>) {check[1]}( =|;)"
        found += bool(check and first >= 0 and re.match(declared, lines[first]))
    return found


def count(files):
    lines = [line.strip() for path in files for line in lines_of(path)]
    comments = sum(line.startswith("//") for line in lines)
    return len(lines), comments, sum(bool(line) for line in lines) - comments


def compile_seconds(build, product):
    """Of this process's children, without the compiler's cache."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for entry in json.loads((pathlib.Path(build) / "compile_commands.json").read_text()):
        file = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if file not in product and file.parent.name != "Unity":  # a unit of all files of a module
            continue
        words = shlex.split(entry["command"])
        words[words.index("-o") + 1] = os.devnull
        subprocess.run(words, cwd=entry["directory"], check=True, env=dict(os.environ, CCACHE_DISABLE="1"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


product = sorted(p for end in ("h", "cc") for p in pathlib.Path("src").rglob("*." + end)
                 if not p.stem.endswith("_test"))
cli = [p for p in product if p.parts[1] == "cli"]
sizes = [len(lines_of(p)) for p in product]
raw, comments, code = count(product)
rows = [
    ("product: files", len(product)),
    ("product: lines without comments and blanks", code),
    ("product: whole-line comments", f"{100 * comments / (comments + code):.1f} %"),
    ("median file, lines", f"{statistics.median(sizes):.0f}"),
    ("files under 25 lines", sum(size < 25 for size in sizes)),
    ("translation units", sum(p.suffix == ".cc" for p in product)),
    ("cli: files", len(cli)),
    ("cli: lines", count(cli)[0]),
    ("declare-and-check pairs", sum(pairs_in(lines_of(p)) for p in product)),
]
if "HOUSE_SINCE" in os.environ:
    changed = subprocess.run(["git", "diff", "--name-only", "--diff-filter=MD", os.environ["HOUSE_SINCE"], "--",
                              "tests/golden"], check=True, capture_output=True, text=True).stdout.split()
    rows.append((f"goldens changed since {os.environ['HOUSE_SINCE']}", len(changed)))
if sys.argv[1:2] == ["--compile"] and len(sys.argv) == 3:
    rows.append(("compile-seconds", f"{compile_seconds(sys.argv[2], {p.resolve() for p in product}):.0f}"))
elif len(sys.argv) > 1:
    sys.exit("usage: tools/house.sh [--compile BUILD_DIR]")
print("| | now |\n|---|---|")
for name, value in rows:
    print(f"| {name} | {value:,} |" if isinstance(value, int) else f"| {name} | {value} |")
PYTHON
