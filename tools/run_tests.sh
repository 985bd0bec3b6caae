#!/usr/bin/env bash
# Runs every test of the build folder $1, with the other words for ctest, and then names what was skipped and why: a
# test that passes says nothing else. Ends as ctest does.
set -euo pipefail
results="$1/test_results"
rm -rf "$results"
mkdir -p "$results"
code=0
ctest --test-dir "$1" --output-on-failure "${@:2}" || code=$?

# <testcase name="A" ... result="skipped" ... classname="B"> and, two lines on, <skipped message="FILE:LINE&#x0A;why">
skipped=$({ cat "$results"/*.xml 2>/dev/null || true; } | sed -n '
  /<testcase .*result="skipped"/ {
    s/.*<testcase name="\([^"]*\)".*classname="\([^"]*\)".*/  \2.\1/
    h
  }
  /<skipped message=/ {
    s/.*<skipped message="\([^"]*\)".*/\1/
    s/.*&#x0A;\(.\)/\1/
    s/&#x0A;//g; s/&apos;/'"'"'/g; s/&quot;/"/g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g
    H
    g
    s/\n/: /p
  }' | sort)
if [ -n "$skipped" ]; then
  echo "Skipped, $(echo "$skipped" | wc -l) in all:"
  echo "$skipped"
fi
exit $code
