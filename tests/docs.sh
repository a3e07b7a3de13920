#!/usr/bin/env bash
# What the documents show is what the program prints: docs.sh BUILD
#
# Runs the first command of every ```console block that works on the examples, and compares its standard
# output with the lines below it. A line "..." stands for any lines. Of every other command of ours in a block the
# program must at least have the subcommand and the options.
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

# Commands of ours in any block, those that go on over several lines as one.
find README.md docs tests -name '*.md' | LC_ALL=C sort | xargs awk '
  FNR == 1 { fence = 0; line = "" }
  /^```/ { fence = !fence; prompt = $0 == "```console"; looks = fence && $0 != "```yaml"; line = ""; next }
  !looks { next }
  { line = line $0 }
  sub(/\\$/, " ", line) { next }
  (line ~ /^\$ / || !prompt) && line ~ /(^|\$ |\| )(build\/)?phalanx / { print FILENAME ":" FNR "\t" line }
  { line = "" }' >"$blocks/commands"

# The words of a command, up to what is the shell's. In a synopsis a bar is none.
words_of() {  # LINE
  local words
  words=$(sed -E 's/^(.*(\$|\|) )?(build\/)?phalanx //; s/ +([>#]|&&).*//' <<<"$1")
  if [[ $words != *' ['* ]]; then words=${words%% | *}; fi
  echo "$words"
}

known=0
while IFS=$'\t' read -r place line; do
  words=$(words_of "$line")
  read -r first second _ <<<"$words"
  command=("$first")
  if [[ $first == bench ]]; then command+=("$second"); fi
  if [[ $first == -* ]]; then command=(); fi
  if ! phalanx "${command[@]}" --help >"$blocks/help" 2>&1; then
    echo "$place: there is no \"phalanx ${command[*]}\": $line"
    failed=1
    continue
  fi
  while read -r option; do
    if ! grep -qE -- "(^|[ ,])$option([ ,=]|\$)" "$blocks/help"; then
      echo "$place: \"phalanx ${command[*]}\" has no option $option: $line"
      failed=1
    fi
  done < <(grep -oE -- '(^|[][ |])--?[a-zA-Z][-a-zA-Z]*' <<<"$words" | tr -d '][ |')
  known=$((known + 1))
done <"$blocks/commands"

echo "$checked outputs compared, $known commands known"
if ((checked == 0 || known <= checked)); then
  echo "no document has a command that could be looked at: are the blocks written otherwise by now?"
  failed=1
fi
exit "$failed"
