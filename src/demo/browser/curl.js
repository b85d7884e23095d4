/**
 * The request as a command. The key is not in it: a shell keeps a history.
 * @param {string} origin
 * @param {import('./types.ts').Plan} plan
 * @param {readonly { name: string, file: File | undefined }[]} photos
 */
export function curlLine(origin, { path, fields }, photos) {
  const files = photos.flatMap(({ name, file }) => (file ? [`${name}=@${formFile(file.name)}`] : []));
  const texts = Object.entries(fields).map(([name, text]) => `${name}=${text}`);
  return [
    'curl -H "x-api-key: $FACEMATCH_KEY"',
    ...[...files, ...texts].map((part) => `-F ${shellWord(part)}`),
    shellWord(origin + path),
  ].join(' \\\n  ');
}

/** curl(1), --form: a name with a comma or semicolon in it stands between double quotes. @param {string} name */
function formFile(name) {
  return /[,;"\\]/.test(name) ? `"${name.replaceAll(/["\\]/g, '\\$&')}"` : name;
}

/** POSIX shell, section 2.2.2: between single quotes, everything but a single quote is itself. @param {string} text */
function shellWord(text) {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
