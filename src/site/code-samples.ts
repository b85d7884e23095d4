import type { Listed } from '../endpoints/index.ts';

/** Code samples of each endpoint in several languages, for viewers of the OpenAPI document. */

interface Sample {
  lang: string;
  label: string;
  source: string;
}

export function samplesOf(endpoint: Listed): Sample[] {
  const { path, docs } = endpoint;
  const request = requestOf(endpoint);
  const key = request.needsKey ? ['-H "x-api-key: $FACEMATCH_KEY"'] : [];
  return [
    {
      lang: 'Shell',
      label: 'curl',
      source: [`curl "$FACEMATCH_URL${path}"`, ...key, ...docs.curl].join(' \\\n  '),
    },
    { lang: 'JavaScript', label: 'Node.js', source: nodeSample(request) },
    { lang: 'Python', label: 'Python requests', source: pythonSample(request) },
  ];
}

interface SampleRequest {
  method: string;
  path: string;
  needsKey: boolean;
  /** Form fields. The value of a file field is the name of the file. */
  parts: readonly { name: string; isFile: boolean; value: string }[];
  /** Name of a file that is sent as JSON. */
  json: string | undefined;
}

/** Parses the request from the curl arguments of the endpoint. */
export function requestOf({ method, path, scope, docs: { curl } }: Listed): SampleRequest {
  const parts = curl.flatMap((argument) => {
    const [, name, at, value] = /^-F (\w+)=(@?)(.*)$/.exec(argument) ?? [];
    return name === undefined ? [] : [{ name, isFile: at === '@', value: value! }];
  });
  const json = curl.find((argument) => argument.startsWith('--data @'))?.slice('--data @'.length);
  return { method, path, needsKey: scope !== 'none', parts, json };
}

/** Joins lines, and omits undefined ones. */
const lines = (...all: readonly (string | readonly string[] | undefined)[]) =>
  all
    .flat()
    .filter((line) => line !== undefined)
    .join('\n');

/** Returns the sample for Node. It does not set the Content-Type of a form, because fetch sets it with the boundary. */
function nodeSample({ method, path, needsKey, parts, json }: SampleRequest): string {
  const isForm = parts.length > 0;
  const type = json && "'content-type': 'application/json'";
  const headers = [needsKey && "'x-api-key': process.env.FACEMATCH_KEY", type].filter((header) => header);
  return lines(
    isForm ? "import { openAsBlob } from 'node:fs';\n\nconst form = new FormData();" : undefined,
    json && "import { readFile } from 'node:fs/promises';\n",
    parts.map(({ name, isFile, value }) => {
      return `form.append('${name}', ${isFile ? `await openAsBlob('${value}')` : `'${value}'`});`;
    }),
    `const response = await fetch(\`\${process.env.FACEMATCH_URL}${path}\`, {`,
    `  method: '${method}',`,
    needsKey ? `  headers: { ${headers.join(', ')} },` : undefined,
    isForm ? '  body: form,' : undefined,
    json && `  body: await readFile('${json}'),`,
    '});\nconsole.log(await response.text());',
  );
}

function pythonSample({ method, path, needsKey, parts, json }: SampleRequest): string {
  const files = parts.filter(({ isFile }) => isFile);
  const values = parts.filter(({ isFile }) => !isFile);
  const type = json && '"content-type": "application/json"';
  const headers = [needsKey && '"x-api-key": os.environ["FACEMATCH_KEY"]', type].filter((header) => header);
  return lines(
    `import os\n\nimport requests\n\nresponse = requests.${method.toLowerCase()}(`,
    `    os.environ["FACEMATCH_URL"] + "${path}",`,
    needsKey ? `    headers={${headers.join(', ')}},` : undefined,
    files.length > 0 ? '    files=[' : undefined,
    files.map(({ name, value }) => `        ("${name}", open("${value}", "rb")),`),
    files.length > 0 ? '    ],' : undefined,
    values.length > 0
      ? `    data={${values.map(({ name, value }) => `"${name}": "${value}"`).join(', ')}},`
      : undefined,
    json && `    data=open("${json}", "rb"),`,
    ')\nprint(response.text)',
  );
}
