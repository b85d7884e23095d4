// Builds the types of `facematch/client-types`: those of the OpenAPI document, then src/client/forms.d.ts.
// Set-up bundles and runs it before the program is compiled, because the program itself uses them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { compile } from 'json-schema-to-typescript';
import { endpointIds, readConfig } from '../../src/config/config.ts';
import { endpoints } from '../../src/endpoints/index.ts';
import { openApiDocument } from '../../src/site/document.ts';

const document = openApiDocument(readConfig({ FACEMATCH_ENDPOINTS: endpointIds.join(',') }));
const { schemas } = document.components;

const ref = (name) => ({ $ref: `#/components/schemas/${name}` });

function without(schema, names) {
  const kept = ([name]) => !names.includes(name);
  return {
    ...schema,
    properties: Object.fromEntries(Object.entries(schema.properties).filter(kept)),
    required: schema.required.filter((name) => !names.includes(name)),
  };
}

/** Form fields that may be omitted: no images, and no tokens that the server issued. */
function valuesOf(path) {
  const { schema } = document.paths[path].post.requestBody.content['multipart/form-data'];
  return without({ ...schema, description: 'The fields that are no images.' }, schema.required);
}

/** The library supports only tuples of draft 4. */
const draft4Tuple = (_key, value) =>
  value?.prefixItems ? { type: 'array', items: value.prefixItems, description: value.description } : value;

const responses = endpoints.flatMap((endpoint) => ('success' in endpoint ? [endpoint.success.name] : []));
const forms = endpoints.filter(({ values }) => values !== undefined);
const isProblem = (name) => name.endsWith('Problem');
const others = Object.entries(schemas).filter(
  ([name]) => ![...responses, 'EmbeddingsRequest'].includes(name),
);
const parts = others.map(([name, schema]) => [
  name,
  isProblem(name) ? without(schema, ['type', 'title', 'detail', 'request_id']) : schema,
]);
const problems = others.map(([name]) => name).filter(isProblem);
const definitions = {
  ...Object.fromEntries(forms.map(({ values, path }) => [values, valuesOf(path)])),
  EmbeddingsRequest: schemas.EmbeddingsRequest,
  ...Object.fromEntries(responses.map((name) => [`${name}Response`, schemas[name]])),
  AnyProblem: { title: 'AnyProblem', oneOf: problems.map(ref) },
};
const bodies = {
  description: 'The bodies of requests, without the images, and of responses.',
  properties: Object.fromEntries(Object.keys(definitions).map((name) => [name, ref(name)])),
  required: Object.keys(definitions),
  components: { schemas: { ...definitions, ...Object.fromEntries(parts) } },
};
const made = await compile(JSON.parse(JSON.stringify(bodies, draft4Tuple)), 'Bodies', {
  additionalProperties: false,
  bannerComment: '// Made of the OpenAPI document by set-up.',
  ignoreMinAndMaxItems: true,
  style: { singleQuote: true, printWidth: 110, bracketSpacing: true },
});
/**
 * A form with a client's own type of images. Each member becomes a part; other values become text:
 * `String(value)`.
 */
function fieldsOf({ values, path, docs }) {
  const { required, properties } =
    document.paths[path].post.requestBody.content['multipart/form-data'].schema;
  const images = required.map((name) => {
    const isText = properties[name].type === 'string' && properties[name].format !== 'binary';
    return `  ${name}: ${isText ? 'string' : 'ImageBytes'}${properties[name].items ? '[]' : ''};\n`;
  });
  const name = values.replace('Values', 'Fields');
  const about = `/** The form of: ${docs.summary}. */`;
  return `${about}\nexport interface ${name}<ImageBytes = unknown> extends ${values} {\n${images.join('')}}\n\n`;
}

const oneLine = /\/\*\*\n *\* (.+)\n *\*\//g;
const [, byHand] = readFileSync('src/client/forms.d.ts', 'utf8').split("from 'facematch/client-types';\n");
mkdirSync(dirname(process.argv[2]), { recursive: true });
const text = `${made.replaceAll(oneLine, '/** $1 */')}\n${forms.map(fieldsOf).join('')}${byHand.trimStart()}`;
writeFileSync(process.argv[2], text);
