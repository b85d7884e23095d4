// Reads a Dockerfile: the part of the language that ours uses. Whatever else stands there is an error, so that a proof or
// a test never passes over it.

/** An instruction, its line, and what to do. */
class DockerfileError extends Error {
  constructor(line, message) {
    super(`Dockerfile line ${line}: ${message}`);
  }
}

/** Flags that each instruction may have. */
const flagsOf = {
  COPY: ['from'],
  RUN: ['mount'],
  HEALTHCHECK: ['interval', 'timeout', 'start-period', 'start-interval', 'retries'],
};

/** Text after the flags → the instruction's own members. */
const forms = {
  ARG: (text) => {
    const [, name, value] = /^([A-Z]\w*)(?:=(\S*))?$/.exec(text) ?? [];
    return name === undefined ? undefined : { name, value };
  },
  CMD: (text) => execForm(text),
  COPY: (text) => {
    const paths = text.split(/\s+/);
    if (paths.length < 2 || paths.some((path) => /[*?[\]"]/.test(path))) return undefined;
    return { sources: paths.slice(0, -1), target: paths.at(-1) };
  },
  ENTRYPOINT: (text) => execForm(text),
  ENV: pairs,
  EXPOSE: (text) => (/^\d+$/.test(text) ? { port: Number(text) } : undefined),
  FROM: (text) => {
    const [, image, name] = /^(\S+)(?:\s+AS\s+(\S+))?$/.exec(text) ?? [];
    return image === undefined ? undefined : { image, name };
  },
  HEALTHCHECK: (text) => (text.startsWith('CMD ') ? execForm(text.slice(4).trim()) : undefined),
  LABEL: pairs,
  RUN: (text) => {
    if (text.startsWith('[')) return execForm(text);
    return text.includes('<<') ? undefined : { shell: text };
  },
  STOPSIGNAL: (text) => (/^SIG[A-Z]+$/.test(text) ? { signal: text } : undefined),
  USER: (text) => {
    const [, uid, gid] = /^(\d+):(\d+)$/.exec(text) ?? [];
    return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
  },
  WORKDIR: (text) => (text.startsWith('/') ? { folder: text } : undefined),
};

function execForm(text) {
  try {
    const command = JSON.parse(text);
    const words = Array.isArray(command) && command.length > 0 && command.every((w) => typeof w === 'string');
    return words ? { command } : undefined;
  } catch {
    return undefined;
  }
}

function pairs(text) {
  const found = [...text.matchAll(/([\w.]+)=(?:"([^"\\]*)"|([^\s"'\\]+))(?:\s+|$)/g)];
  if (found.map(([all]) => all).join('') !== text || found.length === 0) return undefined;
  return { pairs: found.map(([, name, quoted, bare]) => [name, quoted ?? bare]) };
}

/**
 * { args, stages }: instructions before the first FROM, and for each FROM { image, name, instructions }. An instruction is
 * { line, keyword, flags: [[name, value]…], … } with the members that `forms` gives. Throws an Error that names the line.
 */
export function parseDockerfile(text) {
  const args = [];
  const stages = [];
  for (const { line, words } of logicalLines(text)) {
    const instruction = parseInstruction(line, words);
    if (instruction.keyword === 'FROM') {
      stages.push({ ...instruction, instructions: [] });
    } else if (stages.length > 0) stages.at(-1).instructions.push(instruction);
    else if (instruction.keyword === 'ARG') args.push(instruction);
    else throw new DockerfileError(line, `${instruction.keyword} stands before the first FROM`);
  }
  if (stages.length === 0) throw new DockerfileError(1, 'there is no FROM');
  return { args, stages };
}

function parseInstruction(line, words) {
  const [, keyword, rest] = /^(\S+)\s+(.+)$/s.exec(words) ?? [];
  const form = Object.hasOwn(forms, keyword ?? '') ? forms[keyword] : undefined;
  if (form === undefined) throw new DockerfileError(line, `${words.split(/\s/)[0]} is not understood here`);
  const flags = [];
  let text = rest.trim();
  for (
    let flag = /^--([\w-]+)=(\S+)\s+/.exec(text);
    flag !== null;
    flag = /^--([\w-]+)=(\S+)\s+/.exec(text)
  ) {
    const [all, name, value] = flag;
    if (!flagsOf[keyword]?.includes(name))
      throw new DockerfileError(line, `${keyword} --${name} is not understood here`);
    flags.push([name, value]);
    text = text.slice(all.length);
  }
  const members = form(text);
  if (members === undefined)
    throw new DockerfileError(line, `this form of ${keyword} is not understood here`);
  return { line, keyword, flags, ...members };
}

/** Comments go, also those between the lines of one instruction; a backslash at the end joins the next line. */
function* logicalLines(text) {
  let begun;
  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*(?:#|$)/.test(line)) continue;
    begun ??= { line: index + 1, words: '' };
    const joins = line.endsWith('\\');
    begun.words += joins ? `${line.slice(0, -1)} ` : line;
    if (joins) continue;
    yield { line: begun.line, words: begun.words.trim() };
    begun = undefined;
  }
  if (begun !== undefined) throw new DockerfileError(begun.line, 'its last line ends in a backslash');
}

/** `${NAME}` and `$NAME` by their values; an unknown one is an error, where Docker would put nothing. */
export function substitute(text, values) {
  return text.replaceAll(/\$(?:\{(\w+)\}|(\w+))/g, (_all, braced, bare) => {
    const name = braced ?? bare;
    if (values[name] === undefined) throw new Error(`$${name} has no value`);
    return values[name];
  });
}

/** `type=cache,target=/x` → { type: 'cache', target: '/x' } */
export const parseMount = (text) =>
  Object.fromEntries(text.split(',').map((part) => part.split(/=(.*)/s).slice(0, 2)));
