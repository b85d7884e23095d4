#!/usr/bin/env bash
# machine.sh CHECKOUT FOLDER COMMANDS: runs a file of commands as root on an isolated machine. In namespaces
# (mounts, network, processes) /etc, /opt, /var/log and the checkout are copies in memory, so the real machine
# does not change. systemd, which would need the whole machine, is replaced: `systemctl` starts the command of
# the unit as its user, in its folder, with its settings and its view of the file system. `sudo` runs a command
# without asking, and with `-u` as that user.
set -euo pipefail
if [ "${MACHINE:-}" != inside ]; then
  MACHINE=inside exec unshare --mount --net --pid --fork --kill-child --mount-proc bash "$0" "$@"
fi
export checkout=$1 folder=$2 etc=/etc/systemd/system
mount -t tmpfs tmpfs "$folder"
mkdir "$folder"/{etc,opt,before,log,bin,layers}
cp -a /etc "$folder"
mount --bind /opt "$folder/before"
mount --bind "$folder/opt" /opt
for one in "$folder"/before/*/; do
  [ -d "$one" ] || continue
  mkdir "/opt/$(basename "$one")"
  mount --bind "$one" "/opt/$(basename "$one")"
done
mount --bind "$folder/etc" /etc
mount --bind "$folder/log" /var/log
python3 -c 'import fcntl, socket, struct
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sH14x", b"lo", 1))' # SIOCSIFFLAGS, IFF_UP

# clone FOLDER: the checkout with its build products; writes go to memory.
clone() {
  local layers
  layers=$(mktemp -d "$folder/layers/XXXX")
  mkdir -p "$1" "$layers"/{upper,work}
  mount -t overlay overlay -o "lowerdir=$checkout,upperdir=$layers/upper,workdir=$layers/work" "$1"
  chmod 755 "$1"
}
git() { [ "$1" = clone ] && clone "${!#}"; }
sudo() {
  [ "$1" = -u ] || { "$@"; return; }
  setpriv --reuid "$2" --regid "$2" --clear-groups -- "${@:3}"
}

cat >"$folder/bin/systemctl" <<'SYSTEMCTL'
#!/usr/bin/env bash
set -euo pipefail
value() { find -L "$etc" -path '*/facematch.service*' -type f -exec sed -n "s/^$1=//p" {} +; }
# Everything is read-only except what the unit names, and /tmp is private.
confine() {
  local at logs=$1
  [ -z "$logs" ] || mount --bind "$logs" "$logs"
  [ "$(value ProtectSystem)" = strict ]
  awk '{ print $5 }' /proc/self/mountinfo | while read -r at; do
    case $at in /proc* | /dev* | /sys* | "${logs:-none}") ;; *) mount -o remount,bind,ro "$at" ;; esac
  done
  mount -t tmpfs tmpfs /tmp
}
start() {
  local user logs settings
  user=$(value User) logs=$(value LogsDirectory | sed 's|^|/var/log/|')
  settings=$(value Environment; cat /etc/facematch/environment 2>/dev/null || true)
  [ -z "$logs" ] || install --directory --owner "$user" --group "$(value Group)" --mode "$(value LogsDirectoryMode)" "$logs"
  export -f value confine
  unshare --mount bash -euc 'confine "$1"
    cd "$(value WorkingDirectory)"
    umask "$(value UMask)"
    exec setpriv --reuid "$2" --regid "$2" --clear-groups --bounding-set=-all --no-new-privs env -i "PATH=$PATH" $3 $(value ExecStart)' \
    bash "$logs" "$user" "$settings" >>"$folder/journal" 2>&1 &
  echo $! >"$folder/main"
}
stop() { kill "$(cat "$folder/main")" && while kill -0 "$(cat "$folder/main")" 2>/dev/null; do sleep 0.05; done; }
case $1 in
  enable) ln -s "${!#}" "$etc/" && start ;;
  restart) stop && start ;;
  kill) kill "-${2#--signal=SIG}" "$(cat "$folder/main")" ;;
  daemon-reload) ;;
esac
SYSTEMCTL
chmod 755 "$folder" "$folder/bin/systemctl"
export PATH="$folder/bin:$PATH" HOME="$folder" npm_config_offline=true
clone "$folder/clone"
cd "$folder/clone"
source "$3"
