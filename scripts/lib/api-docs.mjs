// docs/api.md, docs/errors.md and docs/clients/client-types.d.ts: the docs page as Markdown, the OpenAPI document as types.
import { readFileSync } from 'node:fs';
import { compile } from 'json-schema-to-typescript';
import compactJson from 'json-stringify-pretty-compact';
import Turndown from 'turndown';
import { endpoints } from '../../dist/src/endpoints/index.js';

/** In client-types.d.ts: what follows is written by hand, since the library cannot say it. */
const byHandMark = '\n// By hand: the forms, and names for parts of the answers.\n';

const note =
  '<!-- Made by scripts/generate-docs.mjs of the docs page; change src/endpoints, src/scoring or src/site instead. -->';

const turndown = new Turndown({ headingStyle: 'atx' });
// The page's text was written as Markdown.
turndown.escape = (text) => text;

const anchor = ({ id }) => (id ? `<a id="${id}"></a>` : '');
const rules = {
  /** The first heading of a section or an article carries its id. */
  heading: {
    filter: ['h2', 'h3'],
    replacement(text, node) {
      const { parentNode: owner } = node;
      const isFirst = owner.querySelector('h2, h3') === node;
      return `\n\n${'#'.repeat(node.nodeName[1])} ${isFirst ? anchor(owner) : ''}${text}\n\n`;
    },
  },
  item: { filter: 'li', replacement: (text) => `- ${text.trim()}\n` },
  term: { filter: 'dt', replacement: (text, node) => `\n- ${anchor(node)}${text.trim()}: ` },
  description: {
    filter: 'dd',
    replacement: (text) => text.trim().replaceAll(/\n+/g, '\n  '),
  },
  code: {
    filter: 'pre',
    replacement(_, { textContent: text }) {
      const json = text.startsWith('{');
      const code = json ? compactJson(JSON.parse(text), { maxLength: 110 }) : text;
      return `\n\n\`\`\`${json ? 'json' : 'sh'}\n${code}\n\`\`\`\n\n`;
    },
  },
};
for (const [name, rule] of Object.entries(rules)) turndown.addRule(name, rule);

const problemWords =
  'Whatever goes wrong, the answer is `application/problem+json` (RFC 9457). `code` is for programs and never changes its ' +
  'meaning; `detail` is for people and may be more specific than the text below.';

/** The docs page of `document` → { api, errors }: two pages of Markdown that link to each other. */
export function apiReference(document, html) {
  const [, contents] = html.match(/<nav[^>]*>(.*?)<\/nav>/s);
  const [, before, errors, after] = html.match(
    /<\/header>(.*)<section id="errors"><h2>Errors<\/h2>(.*?)<\/section>(.*)<\/main>/s,
  );
  const problems = Object.entries(document.components.examples).filter(([, { value }]) => value.code);
  const overview = problems.map(
    ([code, { summary, value }]) => `- ${value.status} [\`${code}\`](#error-${code}): ${summary}`,
  );
  const api = [
    '# API reference',
    note,
    `${document.info.summary} HTTP API version ${document.info.version}, as a server with every default and every endpoint describes it at ` +
      '`/API/v1.0/docs` for people and at `/API/v1.0/openapi.json` for programs ([that of a server with every default](openapi.json)). Yours tells its ' +
      'own limits and endpoints. To begin: [getting started](getting-started.md).',
    turndown.turndown(contents),
    turndown.turndown(before + after),
  ];
  return {
    api: `${api.join('\n\n').replaceAll('(#errors)', '(errors.md)').replaceAll('(#error-', '(errors.md#error-')}\n`,
    errors: `${['# Errors', note, problemWords, overview.join('\n'), withoutPlain(turndown.turndown(errors))].join('\n\n')}\n`,
  };
}

/** Without the examples that show no more than the members that every problem has, but for the first of them. */
function withoutPlain(text) {
  let shown = false;
  return text.replaceAll(/An answer\n\n```json\n(.*?)\n```\n\n/gs, (example, json) => {
    if (Object.keys(JSON.parse(json)).length > 6 || !shown) {
      shown = true;
      return example;
    }
    return '';
  });
}

/** docs/clients/client-types.d.ts: types of the OpenAPI document, above those that the file itself has by hand. */
export async function clientTypes(document) {
  const { schemas } = document.components;
  const answers = endpoints.flatMap((endpoint) => ('success' in endpoint ? [endpoint.success.name] : []));
  const { EmbeddingsRequest } = schemas;
  const others = without({ properties: schemas, required: [] }, [...answers, 'EmbeddingsRequest']).properties;
  const isProblem = (name) => name.endsWith('Problem');
  const parts = Object.entries(others).map(([name, schema]) => [
    name,
    isProblem(name) ? without(schema, ['type', 'title', 'detail', 'request_id']) : schema,
  ]);
  const forms = endpoints.filter(({ values }) => values !== undefined);
  const definitions = {
    ...Object.fromEntries(forms.map(({ values, path }) => [values, valuesOf(document, path)])),
    EmbeddingsQuestion: EmbeddingsRequest,
    ...Object.fromEntries(answers.map((name) => [`${name}Answer`, schemas[name]])),
    AnyProblem: { title: 'AnyProblem', oneOf: Object.keys(others).filter(isProblem).map(ref) },
  };
  const bodies = {
    description: 'The bodies of requests, without the pictures, and of answers.',
    properties: Object.fromEntries(Object.keys(definitions).map((name) => [name, ref(name)])),
    required: Object.keys(definitions),
    components: { schemas: { ...definitions, ...Object.fromEntries(parts) } },
  };
  const made = await compile(JSON.parse(JSON.stringify(bodies, draft4Tuple)), 'Bodies', {
    additionalProperties: false,
    bannerComment: '// Made by scripts/generate-docs.mjs of the OpenAPI document; change that instead.',
    ignoreMinAndMaxItems: true,
    style: { singleQuote: true, printWidth: 110, bracketSpacing: true },
  });
  const oneLine = /\/\*\*\n *\* (.+)\n *\*\//g;
  const [, byHand] = readFileSync('docs/clients/client-types.d.ts', 'utf8').split(byHandMark);
  return made.replaceAll(oneLine, '/** $1 */') + byHandMark + byHand;
}

const ref = (name) => ({ $ref: `#/components/schemas/${name}` });

/** The fields of a form that are no pictures. */
function valuesOf(document, path) {
  const { schema } = document.paths[path].post.requestBody.content['multipart/form-data'];
  return without({ ...schema, description: 'The fields that are no pictures.' }, schema.required);
}

function without(schema, names) {
  const kept = ([name]) => !names.includes(name);
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(schema.properties).filter(kept)),
    required: schema.required.filter((name) => !names.includes(name)),
  };
}

/** The library knows tuples of draft 4 alone. */
const draft4Tuple = (_, value) =>
  value?.prefixItems ? { type: 'array', items: value.prefixItems, description: value.description } : value;
