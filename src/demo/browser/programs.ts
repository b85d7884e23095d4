import type { Plan } from './types.ts';
import { curlLine, type Photos, shellWord } from './words.ts';

/** Functions by language that return the request as code, which reads the key from the environment. */
export const programs: Readonly<Record<string, (origin: string, plan: Plan, photos: Photos) => string>> = {
  curl: curlLine,
  JSON: curlWithJson,
  Node(origin, plan, photos) {
    const images = argumentsOf(plan, photos, (file) => `await openAsBlob(${file})`);
    const options = valuesOf(plan).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
    return [
      "import { openAsBlob } from 'node:fs';",
      "import { FacematchClient } from './facematch.mjs';",
      '',
      `const client = new FacematchClient({ url: ${JSON.stringify(origin)}, key: process.env.FACEMATCH_KEY });`,
      `const response = await client.${methodOf(plan)}(${[...images, `{ ${options.join(', ')} }`].join(', ')});`,
      'console.log(response);',
    ].join('\n');
  },
  Python(origin, plan, photos) {
    const words: Record<string, string> = { true: 'True', false: 'False' };
    const images = argumentsOf(plan, photos, (file) => file);
    const options = valuesOf(plan).map(([name, value]) => {
      const text = JSON.stringify(value);
      return `${name}=${words[text] ?? text}`;
    });
    return [
      'import os',
      'from facematch import FacematchClient',
      '',
      `client = FacematchClient(${JSON.stringify(origin)}, os.environ["FACEMATCH_KEY"])`,
      `print(client.${methodOf(plan)}(${[...images, ...options].join(', ')}))`,
    ].join('\n');
  },
};

/** Pipes the images to curl, because the operating system limits the length of arguments. */
function curlWithJson(origin: string, plan: Plan, photos: Photos): string {
  const base64 = (file: string) => `printf '"'; base64 < ${shellWord(file)} | tr -d '\\n'; printf '"'`;
  const members = groupsOf(plan, photos).map(({ name, files, list }) => {
    const images = files.map(base64).join("; printf ','\n  ");
    return `printf '"${name}":${list ? '[' : ''}'; ${images}${list ? "; printf ']'" : ''}`;
  });
  const values = valuesOf(plan).map(([name, value]) => `printf '"${name}":${JSON.stringify(value)}'`);
  const body = [...members, ...values].join("; printf ','\n  ");
  const head = '-H "x-api-key: $FACEMATCH_KEY" -H "content-type: application/json"';
  return `{ printf '{'\n  ${body}\n  printf '}'; } |\n  curl ${head} --data-binary @- ${shellWord(origin + plan.path)}`;
}

/** Returns the name of the method in both client libraries. */
function methodOf({ endpoint }: Plan): string {
  const methods = { match_person: 'person', match_many: 'many', detect: 'detect' } as const;
  return endpoint in methods ? methods[endpoint as keyof typeof methods] : 'match';
}

/** Converts form texts to JSON values. */
function valuesOf({ fields }: Plan): [name: string, value: string | number | boolean][] {
  return Object.entries(fields).map(([name, text]) => {
    if (text === 'true' || text === 'false') return [name, text === 'true'];
    return [name, /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text];
  });
}

/** Returns file names by field. `list`: true if the field accepts several images. */
function groupsOf({ endpoint }: Plan, photos: Photos) {
  return [...new Set(photos.map(({ name }) => name))].map((name) => {
    const files = photos.flatMap(({ name: of, file }) => (of === name && file ? [file.name] : []));
    const list = endpoint === 'match_person' || (endpoint === 'match_many' && name === 'image2');
    return { name, files, list };
  });
}

function argumentsOf(plan: Plan, photos: Photos, write: (file: string) => string): string[] {
  return groupsOf(plan, photos).map(({ files, list }) => {
    const written = files.map((file) => write(JSON.stringify(file))).join(', ');
    return list ? `[${written}]` : written;
  });
}
