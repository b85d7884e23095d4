// Runs a command with a folder as its root, as a container engine would: mounts and processes in namespaces of their own,
// which end with the first process, however that ends. Nothing is ever mounted that others would see.

const quoted = (text) => `'${String(text).replaceAll("'", "'\\''")}'`;

/** Of a container's /dev, what programs ask for. */
const devices = ['null', 'zero', 'full', 'random', 'urandom'];

/**
 * The command line for it. `binds` are { source, target, readOnly }; a target that is missing must be made by the caller,
 * but below /run and /tmp, which are empty and writable file systems unless `readOnly`. Without `network` there is only
 * a loopback interface. What is written to /run is lost, which an engine would keep. The command has no more rights than its user, and cannot get any.
 */
export function sandboxed(
  { root, binds = [], readOnly = false, network = false, user, folder, hidden = [] },
  command,
) {
  const at = (path) => quoted(`${root}${path}`);
  const lines = [
    `mount --bind ${quoted(root)} ${quoted(root)}`,
    `mount -t proc proc ${at('/proc')}`,
    `mount -t tmpfs -o mode=755 tmpfs ${at('/dev')}`,
    ...devices.flatMap((name) => [
      `: > ${at(`/dev/${name}`)}`,
      `mount --bind /dev/${name} ${at(`/dev/${name}`)}`,
    ]),
    ...(readOnly ? [] : [`mount -t tmpfs -o mode=755 tmpfs ${at('/run')}`]),
    ...binds.flatMap(({ source, target, readOnly }) => [
      ...(target.startsWith('/run/')
        ? [`test -d ${quoted(source)} && mkdir ${at(target)} || : > ${at(target)}`]
        : []),
      `mount --bind ${quoted(source)} ${at(target)}`,
      ...(readOnly ? [`mount -o remount,ro,bind ${at(target)}`] : []),
    ]),
    ...hidden.map((path) => `mount --bind /dev/null ${at(path)}`),
    ...(readOnly ? [`mount -o remount,ro,bind ${quoted(root)}`] : []),
    ...(network ? [] : ['ip link set lo up']),
  ];
  const { uid, gid } = user;
  const rights = ['setpriv', '--no-new-privs', '--clear-groups'];
  const enter = ['unshare', `--root=${root}`, `--wd=${folder}`, `--setgid=${gid}`, `--setuid=${uid}`];
  const exec = [...(uid === 0 ? [] : rights), ...enter, ...command].map(quoted).join(' ');
  return [
    ...['unshare', '--mount', '--pid', '--ipc', '--uts', '--fork', '--kill-child'],
    ...(network ? [] : ['--net']),
    ...['sh', '-e', '-c', `${lines.join('\n')}\nexec ${exec}`],
  ];
}

/** The command line for another command in the namespaces of a running one, as `docker exec` does. */
export const beside = (pid, { uid, gid }, folder, command) => [
  ...[
    'nsenter',
    `--target=${pid}`,
    '--mount',
    '--pid',
    '--ipc',
    '--uts',
    '--net',
    `--root`,
    `--wdns=${folder}`,
  ],
  ...[`--setgid=${gid}`, `--setuid=${uid}`],
  ...command,
];
