#!/usr/bin/env bash
# What the documents show is what the program prints: docs.sh BUILD
#
# Runs the first command of every ```console block that works on the examples, and compares its standard
# output with the lines below it. A line "..." stands for any lines.
set -euo pipefail
shopt -s extglob nullglob
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$(cd "$1" && pwd)
export PATH=$build:$PATH LC_ALL=C.UTF-8 NO_COLOR=1
blocks=$(mktemp -d)
trap 'rm -rf "$blocks"' EXIT

find README.md docs -name '*.md' | LC_ALL=C sort | xargs awk -v out="$blocks" '
  FNR == 1 { open = 0 }
  /^```console$/ { open = 1; file = sprintf("%s/%03d", out, ++count); print FILENAME ":" FNR > file; next }
  /^```$/ { open = 0 }
  open { print > file }'

checked=0
failed=0
for block in "$blocks"/*; do
  place=$(sed -n 1p "$block")
  command=$(sed -n '2s/^\$ //p' "$block")
  case $command in
    ?(build/)phalanx\ @(place|simulate|explain)\ -f\ examples/*) ;;
    *) continue ;;
  esac
  if [[ $command == *'|'* || $command == *broken* ]]; then continue; fi
  eval "$command" >"$blocks/actual" 2>/dev/null || true
  checked=$((checked + 1))
  if ! sed -e 1,2d -e '/^\$ /,$d' "$block" | awk -v actual="$blocks/actual" '
    BEGIN { while ((getline line < actual) > 0) have[++n] = line; at = 1 }
    $0 == "..." { any = 1; next }
    {
      while (any && at <= n && have[at] != $0) ++at
      any = 0
      if (at > n || have[at] != $0) { print "the document says: " $0; print "the program says:  " have[at]; exit 1 }
      ++at
    }'; then
    echo "$place: the output of \"$command\" differs"
    failed=1
  fi
done
echo "$checked outputs compared"
if ((checked == 0)); then
  echo "no document has a command that could be compared: are the blocks written otherwise by now?"
  failed=1
fi
exit "$failed"
