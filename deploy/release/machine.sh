# Replaces sudo and systemctl, which a bare Debian in a chroot does not have. systemctl starts the unit's command with
# its user, folder and environment; test/slow/deploy/systemd-unit.test.ts tests the sandbox of the unit.
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
    # shellcheck disable=SC2046 # the unit's values are split into words
    exec setpriv --reuid facematch --regid facematch --clear-groups env \
      $(sed -n 's/^Environment=//p' $unit; cat /etc/facematch/environment 2>/dev/null) $(sed -n 's/^ExecStart=//p' $unit)
  ) >>/srv/journal 2>&1 &
  echo $! >$main
}
