import type { Listed } from '../endpoints/index.ts';

/** The request of an endpoint's curl arguments, for the languages that most ask for. Viewers of OpenAPI documents show these. */

export interface Sample {
  lang: string;
  label: string;
  source: string;
}

export function samplesOf({ method, path, docs }: Listed): Sample[] {
  const request = requestOf(method, path, docs.curl);
  return [
    {
      lang: 'Shell',
      label: 'curl',
      source: [`curl "$FACEMATCH_URL${path}"`, ...docs.curl].join(' \\\n  '),
    },
    { lang: 'JavaScript', label: 'Node.js', source: nodeSample(request) },
    { lang: 'Python', label: 'Python requests', source: pythonSample(request) },
  ];
}

interface Request {
  method: string;
  path: string;
  needsKey: boolean;
  /** Fields of a form with the names of files. */
  files: readonly Pair[];
  /** Its other fields. */
  values: readonly Pair[];
  /** The name of a file that is sent as JSON. */
  json: string | undefined;
}

type Pair = readonly [name: string, value: string];

function requestOf(method: string, path: string, curl: readonly string[]): Request {
  const fields = curl.flatMap((argument) => /^-F (\w+)=(@?)(.*)$/.exec(argument) ?? []);
  const parts = Array.from({ length: fields.length / 4 }, (_, i) => fields.slice(4 * i + 1, 4 * i + 4));
  const pairs = (at: string) =>
    parts.filter((part) => part[1] === at).map((part): Pair => [part[0]!, part[2]!]);
  return {
    method,
    path,
    needsKey: curl.some((argument) => argument.includes('x-api-key')),
    files: pairs('@'),
    values: pairs(''),
    json: /^--data @(.*)$/m.exec(curl.join('\n'))?.[1],
  };
}

/** Line by line; what is undefined is left out. */
const lines = (...all: readonly (string | readonly string[] | undefined)[]) =>
  all
    .flat()
    .filter((line) => line !== undefined)
    .join('\n');

/** A fetch that sets no Content-Type for a form: only it knows the boundary. */
function nodeSample({ method, path, needsKey, files, values, json }: Request): string {
  const isForm = files.length > 0;
  const headers = [
    ...(needsKey ? ["'x-api-key': process.env.FACEMATCH_KEY"] : []),
    ...(json === undefined ? [] : ["'content-type': 'application/json'"]),
  ];
  return lines(
    isForm ? "import { openAsBlob } from 'node:fs';\n" : undefined,
    json === undefined ? undefined : "import { readFile } from 'node:fs/promises';\n",
    isForm ? 'const form = new FormData();' : undefined,
    files.map(([name, file]) => `form.append('${name}', await openAsBlob('${file}'));`),
    values.map(([name, value]) => `form.append('${name}', '${value}');`),
    `const answer = await fetch(\`\${process.env.FACEMATCH_URL}${path}\`, {`,
    `  method: '${method}',`,
    headers.length === 0 ? undefined : `  headers: { ${headers.join(', ')} },`,
    isForm ? '  body: form,' : undefined,
    json === undefined ? undefined : `  body: await readFile('${json}'),`,
    '});',
    'console.log(await answer.text());',
  );
}

function pythonSample({ method, path, needsKey, files, values, json }: Request): string {
  const headers = [
    ...(needsKey ? ['"x-api-key": os.environ["FACEMATCH_KEY"]'] : []),
    ...(json === undefined ? [] : ['"content-type": "application/json"']),
  ];
  return lines(
    'import os\n\nimport requests\n',
    `answer = requests.${method.toLowerCase()}(`,
    `    os.environ["FACEMATCH_URL"] + "${path}",`,
    headers.length === 0 ? undefined : `    headers={${headers.join(', ')}},`,
    files.length === 0 ? undefined : '    files=[',
    files.map(([name, file]) => `        ("${name}", open("${file}", "rb")),`),
    files.length === 0 ? undefined : '    ],',
    values.length === 0
      ? undefined
      : `    data={${values.map(([name, value]) => `"${name}": "${value}"`).join(', ')}},`,
    json === undefined ? undefined : `    data=open("${json}", "rb"),`,
    ')',
    'print(answer.text)',
  );
}
