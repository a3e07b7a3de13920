#!/usr/bin/env bash
# The layers of src: a directory includes only itself and those listed before it, and only kube and
# serve touch the network libraries. Files over 500 lines are named, as a reminder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

layers=(base api topology placement quota core jobs gang grove admission serve kube manager sim cli)

find src -name '*.h' -o -name '*.cc' | sort | xargs awk -v layers="${layers[*]}" '
  BEGIN {
    count = split(layers, names, " ")
    for (i = 1; i <= count; ++i) rank[names[i]] = i
  }
  FNR == 1 {
    if (previous != "" && lines > 500) print "note: " previous ": " lines " lines; over 500 is asking to be two files"
    split(FILENAME, parts, "/")
    own = parts[2]
    previous = FILENAME
    if (!(own in rank)) problem("src/" own " is in no layer; add it to tests/layers.sh")
  }
  { lines = FNR }
  /^[ \t]*#[ \t]*include[ \t]*"/ {
    split($0, quoted, "\"")
    if (split(quoted[2], path, "/") < 2) { problem("\"" quoted[2] "\" is not named by its path below src"); next }
    if (!(path[1] in rank)) problem("\"" quoted[2] "\" is in no layer")
    else if (rank[path[1]] > rank[own]) problem("src/" own " must not include \"" quoted[2] "\": " path[1] " is a later layer")
  }
  /^[ \t]*#[ \t]*include[ \t]*<boost\/(asio|beast)[\/.]/ && own != "kube" && own != "serve" {
    problem("only src/kube and src/serve include Asio and Beast")
  }
  function problem(text) { print FILENAME ":" FNR ": " text; ++problems }
  END {
    if (lines > 500) print "note: " previous ": " lines " lines; over 500 is asking to be two files"
    exit problems > 0
  }'
