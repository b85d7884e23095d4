import type { Config, Setting, SettingName } from '../config.ts';
import { settings, variableOf } from '../config.ts';
import { errorTable } from '../errors.ts';
import { headersOf } from './headers.ts';
import { codes, page, table } from './markdown-text.ts';
import { errorAnchor } from './operation-view.ts';
import { errorCodes, extrasOf, problemExample } from './problems.ts';

/** Tables of the program as pages of docs/. */

/** docs/errors.md */
export function errorsMarkdown(): string {
  const rows = errorCodes.map((code) => [
    String(errorTable[code].status),
    `[\`${code}\`](#${errorAnchor(code)})`,
    errorTable[code].title,
    codes(extrasOf(code)),
  ]);
  return page(
    '# Errors',
    'Whatever goes wrong, the answer is `application/problem+json` (RFC 9457). Each has `type`, `title`, `status`, `detail`, ' +
      '`code` and `request_id`; some have more. `code` is for programs and never changes its meaning, `detail` is for people ' +
      'and may be more specific than the text below.',
    table(['status', 'code', 'title', 'has also'], rows),
    ...errorCodes.map(errorSection),
  );
}

function errorSection(code: (typeof errorCodes)[number]): string {
  const { status, title, detail } = errorTable[code];
  const own = Object.keys(headersOf(status)).filter((name) => !(name in headersOf(500)));
  return [
    `## <a id="${errorAnchor(code)}"></a>${code}`,
    `${status}. ${title}. ${detail}`,
    ...(own.length > 0 ? [`With ${codes(own)}.`] : []),
    `\`\`\`json\n${JSON.stringify(problemExample(code), null, 2)}\n\`\`\``,
  ].join('\n\n');
}

/** Defaults that depend on the machine or on other settings, in words. */
const derived: Partial<Record<SettingName, string>> = {
  workers: 'the CPU quota',
  queue: '8 × `FACEMATCH_WORKERS`',
  max_upload_bytes: '`536870912`, or `FACEMATCH_MAX_BODY_BYTES` when that is more',
};

const fileExample = {
  FACEMATCH_HOST: '0.0.0.0',
  FACEMATCH_PORT: 8443,
  FACEMATCH_TLS_CERT: '/etc/facematch/tls.crt',
  FACEMATCH_TLS_KEY: '/etc/facematch/tls.key',
  FACEMATCH_ENDPOINTS: ['match', 'match_advanced', 'models'],
};

/** docs/configuration.md */
export function configurationMarkdown(): string {
  const rows = Object.entries<Setting<unknown>>(settings).map(([name, setting]) => [
    `\`${variableOf(name)}\``,
    setting.description,
    setting.expected,
    derived[name as SettingName] ?? plainDefault(name, setting),
  ]);
  return page(
    '# Configuration',
    'Everything is set through the environment, or in a file, and checked at the start: a wrong value stops it with one line that ' +
      'names the variable. An empty variable counts as unset. A misspelt one is ignored, and named in the log.',
    table(['variable', 'what', 'takes', 'default'], rows),
    '## In a file',
    '`FACEMATCH_CONFIG` names a file with one JSON object. Its names are those of the table, letter by letter; numbers may be ' +
      'numbers, and lists may be lists:',
    `\`\`\`json\n${JSON.stringify(fileExample, null, 2)}\n\`\`\``,
    'A variable that is set wins over the file. The file is read once, at the start. A name that is not in the table stops the ' +
      'start, and so does one that stands there twice: the line says where, and which name may be meant. Let nobody else read a ' +
      'file that holds a password.',
    '`facematch config` shows every setting in force and where it comes from, without secrets; `facematch config --check` shows ' +
      'only what is wrong, and its exit code is for scripts.',
  );
}

/** Throws an Error for a default that reads other settings and is not put into words above. */
function plainDefault(name: string, { fallback }: Setting<unknown>): string {
  const untouchable = new Proxy({} as Readonly<Record<keyof Config, unknown>>, {
    get: () => {
      throw new Error(`The default of ${name} depends on other settings: say how in src/api/markdown.ts`);
    },
  });
  const value = fallback(untouchable);
  const text = Array.isArray(value) ? value.join(',') : String(value);
  return text === '' ? 'none' : `\`${text}\``;
}
