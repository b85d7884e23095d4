# Stands in for what a bare Debian in a folder has not: sudo, as root already, and systemd, of which the unit's user, folder, settings
# and command are taken; test/slow/deploy/systemd-unit.test.ts tries its confinement.
set -euo pipefail
samples=$(echo /opt/facematch-*/node_modules/@facematch/linux-*/samples)
sudo() {
  [ "$1" = -u ] || { "$@"; return; }
  setpriv --reuid "$2" --regid "$2" --clear-groups -- "${@:3}"
}
systemctl() {
  local unit=/opt/facematch/deploy/facematch.service main=/run/facematch.pid
  if [ -e $main ]; then
    kill "$(cat $main)"
    tail --pid="$(cat $main)" --follow /dev/null
    rm $main
  fi
  [ "$1" != disable ] || return 0
  install --directory --owner facematch --group facematch --mode 0700 /var/log/facematch
  (
    cd "$(sed -n 's/^WorkingDirectory=//p' $unit)"
    # shellcheck disable=SC2046 # words of the unit
    exec setpriv --reuid facematch --regid facematch --clear-groups env \
      $(sed -n 's/^Environment=//p' $unit; cat /etc/facematch/environment 2>/dev/null) $(sed -n 's/^ExecStart=//p' $unit)
  ) >>/srv/journal 2>&1 &
  echo $! >$main
}
