#!/usr/bin/env bash
# The Dockerfile fits the program, as far as that can be seen without building it: image.sh BUILD
#
# - Every library that the program names is in a package that the Dockerfile installs, every one that these need in
#   turn in a package that comes with them, and no package is installed for nothing.
# - The user is a number, and not 0; the Deployment says the same one.
# - The program runs as this user with a root file system that is read-only and an empty /tmp.
#
# On Debian 12, which the image is made of; elsewhere the libraries are not looked at, and the last one not where
# namespaces are forbidden. Prints "N checks, 0 failed", or
# what was wrong, with exit code 1.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
(($# == 1)) || { sed -n '2s/^# //p' "$0" >&2 && exit 2; }
program=$(realpath "$1/phalanx")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
checks=0
failed=0

check() {  # PROBLEM COMMAND...
  checks=$((checks + 1))
  if ! "${@:2}"; then
    echo "FAIL $1"
    failed=$((failed + 1))
  fi
}

# The last stage: its words after "apt-get install" up to "&&".
last_stage() { awk '/^FROM /{ text = "" } { text = text $0 "\n" } END { printf "%s", text }' Dockerfile; }
mapfile -t packages < <(last_stage | awk '
  /apt-get install/ { open = 1; sub(/.*apt-get install/, "") }
  open && /^ *&& / { exit }
  open { for (i = 1; i <= NF; ++i) if ($i !~ /^(-|\\)/) print $i }')
user=$(last_stage | sed -n 's/^USER //p')

owner() {  # LIBRARY: the package of a file, by whichever of its names it is known
  local path
  for path in "$1" "$(realpath "$1")" "/usr$1" "/usr$(realpath "$1")" "$(realpath "$1" | sed 's|^/usr||')"; do
    if dpkg-query -S "$path" 2>/dev/null | head -n 1 | cut -d: -f1 | grep .; then return; fi
  done
}

# The packages that come with these: closure PACKAGE...
closure() {
  local seen=" " todo=("$@") package
  while ((${#todo[@]} > 0)); do
    package=${todo[0]}
    todo=("${todo[@]:1}")
    if [[ $seen == *" $package "* ]]; then continue; fi
    seen+="$package "
    mapfile -t -O "${#todo[@]}" todo < <(dpkg-query -W -f '${Pre-Depends}, ${Depends}\n' "$package" 2>/dev/null |
      tr ',|' '\n\n' | sed -E 's/^ +//; s/[ :(].*//' | grep . || true)
  done
  echo "$seen"
}

is_in() { [[ " $2 " == *" $1 "* ]]; }
names_one_of() { grep -qxF "$1" "$work/owners"; }

check_libraries() {
  local base together name path package
  if ! grep -qs '^VERSION_ID="12"' /etc/os-release || ! command -v dpkg-query readelf >/dev/null; then
    echo "note: this is no Debian 12; the libraries were not looked at"
    return
  fi
  base=$(closure apt $(dpkg-query -W -f '${Package} ${Essential}\n' | awk '$2 == "yes" { print $1 }'))
  together="$base $(closure "${packages[@]}")"
  ldd "$program" | awk '$2 == "=>" { print $1, $3 }' >"$work/libraries"
  check "ldd finds no libraries of $program" test -s "$work/libraries"
  while read -r name path; do
    package=$(owner "$path")
    if readelf -d "$program" | grep -qF "NEEDED" && readelf -d "$program" | grep -qF "[$name]"; then
      echo "$package" >>"$work/owners"
      if ! is_in "$package" "libc6 libgcc-s1"; then
        check "$name is of ${package:-no package}, which the Dockerfile does not name" is_in "$package" "${packages[*]}"
      fi
    else
      check "$name is of ${package:-no package}, which comes with none of the Dockerfile's" is_in "$package" "$together"
    fi
  done <"$work/libraries"
  for package in "${packages[@]}"; do
    if [[ $package == ca-certificates ]]; then continue; fi
    check "the Dockerfile installs $package, of which the program names no library" names_one_of "$package"
  done
}

check_user() {
  check "USER $user is no number without rights, with its group" test "${user//[0-9]/}" = :
  check "USER $user is root" test "${user%%:*}" -gt 0 -a "${user#*:}" -gt 0
  check "deploy/manager.yaml does not run as ${user%%:*}" grep -q "runAsUser: ${user%%:*}$" deploy/manager.yaml
  check "deploy/manager.yaml does not run as group ${user#*:}" grep -q "runAsGroup: ${user#*:}$" deploy/manager.yaml
  check "the entry point is not the program" grep -qxF 'ENTRYPOINT ["/usr/local/bin/phalanx"]' Dockerfile
}

# In a mount namespace of its own, as uid 65532, with nothing to write to but /tmp. Who is not root gets there by a user
# namespace, in which a mount can be made read-only as one of this namespace only ("bind"), not as a file system.
enter=(unshare --mount --propagation private)
drop=(setpriv "--reuid=${user%%:*}" "--regid=${user#*:}" --clear-groups --no-new-privs)
if ((EUID != 0)); then
  enter=(unshare --user --map-root-user --mount --propagation private)
  drop=(unshare --user "--map-user=${user%%:*}" "--map-group=${user#*:}")
fi
sandboxed() {  # COMMAND...
  # shellcheck disable=SC2016
  "${enter[@]}" bash -c '
    set -e
    mount -t tmpfs -o mode=0755 tmpfs /mnt
    cp "$0" /mnt/phalanx
    mount -o remount,bind,ro /mnt
    mount -t tmpfs -o mode=1777,noexec tmpfs /tmp
    mount -o remount,bind,ro /
    cd /
    exec "$@"' "$program" "${drop[@]}" env -i PATH=/mnt:/usr/bin:/bin LC_ALL=C.UTF-8 "$@"
}
runs() { sandboxed "$@" >"$work/said" 2>&1 </dev/null || { cat "$work/said" && false; }; }
# This user may not write there anyway; what is asked is the mount, of which the kernel speaks first.
is_read_only() {  # FILE
  if sandboxed touch "$1" >"$work/said" 2>&1 </dev/null; then return 1; fi
  grep -q 'Read-only file system$' "$work/said" || { cat "$work/said" && false; }
}

check_read_only() {
  local path
  if ! "${enter[@]}" true 2>"$work/said"; then
    echo "note: $(tail -n 1 "$work/said"); whether it runs on a read-only root file system was not looked at"
    return
  fi
  for path in /written /usr/written /var/written /mnt/written; do
    check "the root file system of the sandbox is not read-only: $path" is_read_only "$path"
  done
  check "the sandbox has no /tmp to write to" runs touch /tmp/written
  check "the program does not run" runs phalanx --help
  check "the manager does not show its options" runs phalanx manager --help
  check "it does not print what to install" runs phalanx install
  check "it does not simulate" runs phalanx simulate --until 10m --seed 1
}

check_libraries
check_user
check_read_only
echo "$checks checks, $failed failed"
((failed == 0))
