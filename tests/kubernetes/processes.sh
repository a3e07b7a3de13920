# Programs in the background, by name, below a folder: start, stop, pause. For scripts to source.
#
# A pid alone does not say which program it is: once a program has ended, the number is given to another.
# So the folder $home remembers when the process began, too, and a process is signalled only if both agree.
#
#   $home/processes/NAME/pid       its pid, when it began (clock ticks since boot), and which boot
#   $home/processes/NAME/command   its arguments, each ended by a zero byte
#   $home/processes/NAME/number    programs are stopped in the opposite order of their start
#   $home/logs/NAME.log            what it says, of all its runs
#
# The caller sets home and say (a function that tells people something).
# shellcheck shell=bash disable=SC2154

# Starts a program: start_process NAME COMMAND...
start_process() {
  local name=$1 record=$home/processes/$1 last
  shift
  mkdir -p "$record" "$home/logs"
  last=$(cat "$home"/processes/*/number 2>/dev/null | sort -n | tail -n 1 || true)
  echo $((${last:-0} + 1)) >"$record/number"
  printf '%s\0' "$@" >"$record/command"
  launch_process "$name"
}

# Starts it as it was started before.
launch_process() {
  local record=$home/processes/$1 log=$home/logs/$1.log command
  mapfile -d '' -t command <"$record/command"
  rm -f "$record/pid"
  # The process notes itself before it becomes the program: there is no program without a note, whenever
  # this script is interrupted. It has a session of its own, so that Ctrl-C is for the script alone, and does not
  # inherit the script's lock.
  # shellcheck disable=SC2016
  setsid bash -c '
    IFS= read -r stat <"/proc/$$/stat" && read -ra fields <<<"${stat##*) }"
    echo "$$ ${fields[19]} $(</proc/sys/kernel/random/boot_id)" >"$0.part" && mv "$0.part" "$0"
    exec "$@"' "$record/pid" "${command[@]}" </dev/null >>"$log" 2>&1 9>&- &
  until [[ -s $record/pid ]]; do sleep 0.01; done
}

# Whether it runs; its pid is then in $pid.
is_running() {
  local started boot stat fields
  read -r pid started boot 2>/dev/null <"$home/processes/$1/pid" || return 1
  [[ $boot == "$(</proc/sys/kernel/random/boot_id)" ]] || return 1
  IFS= read -r stat 2>/dev/null <"/proc/$pid/stat" || return 1
  read -ra fields <<<"${stat##*) }"
  [[ ${fields[19]} == "$started" ]] || return 1
  # Of a process that is killed the first thread may be gone before the others, which still have its ports.
  [[ ${fields[0]} != [ZX] ]] || ((fields[17] > 1))
}

# The names of all that were started, the newest first.
process_names() {
  local record
  for record in "$home"/processes/*/; do
    [[ -f $record/number ]] && echo "$(<"$record/number") $(basename "$record")"
  done | sort -rn | cut -d' ' -f2
}

# Asks it to end, makes it end after 10 s, and returns when it is gone.
stop_process() {
  local name=$1 pid i
  if is_running "$name"; then
    kill -TERM "$pid" 2>/dev/null || true
    kill -CONT "$pid" 2>/dev/null || true  # it may be paused
    for ((i = 0; i < 200; ++i)); do
      is_running "$name" || break
      sleep 0.05
    done
    if is_running "$name"; then
      say "$name did not end within 10 s; killing it"
      kill -KILL "$pid" 2>/dev/null || true
      while is_running "$name"; do sleep 0.05; done
    fi
  fi
  rm -f "$home/processes/$name/pid"
}

stop_all_processes() {
  local name
  for name in $(process_names); do stop_process "$name"; done
}
