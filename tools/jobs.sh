# Commands beside each other, for scripts to source: whoever interrupts the script ends all of them.
#
# Each command that is put into the background has a process group of its own, with everything that it starts, and is
# ended as a group: a shell alone would wait for the program that it runs. Traps on EXIT are run.
# shellcheck shell=bash
set -m

end_jobs() {
  local pid
  for pid in $(jobs -p); do kill -TERM -- "-$pid" 2>/dev/null || true; done
  wait
}
trap 'end_jobs; exit 130' INT
trap 'end_jobs; exit 143' TERM HUP
