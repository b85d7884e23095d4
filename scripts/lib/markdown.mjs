import { readFileSync } from 'node:fs';
import { readConfig, settings, variableOf } from '../../dist/src/config/config.js';
import { EmbeddedFace } from '../../dist/src/endpoints/face.js';
import { endpoints } from '../../dist/src/endpoints/index.js';
import { qualityReasons, warningCodes } from '../../dist/src/endpoints/warnings.js';
import { errorCodes, errorTable } from '../../dist/src/errors.js';
import { metricName, metricTable } from '../../dist/src/telemetry/metric-table.js';

/** Tables of the program as Markdown, for pages of docs/. */

/** A page that is generated as a whole. */
export function page(title, ...blocks) {
  const note = '<!-- Made by scripts/generate-docs.mjs; change the source instead. -->';
  return `${[title, note, ...blocks].join('\n\n')}\n`;
}

/**
 * Updates a page whose tables are between `<!-- NAME -->` and `<!-- end of NAME -->`. Throws an Error if a
 * marker is missing.
 */
export function filled(path, tables) {
  let text = readFileSync(path, 'utf8');
  for (const [name, table] of Object.entries(tables)) {
    const place = new RegExp(`(?<=<!-- ${name} -->\\n).*?(?=<!-- end of ${name} -->)`, 's');
    if (!place.test(text)) throw new Error(`${path} has no place for ${name}`);
    text = text.replace(place, () => `\n${table}\n\n`);
  }
  return text;
}

export function table(head, rows) {
  const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** Defaults that depend on the machine or on other settings, in words. */
const derived = {
  workers: 'the CPU quota',
  queue_capacity: '8 × `FACEMATCH_WORKERS`',
  upload_memory_bytes: '`268435456`, or `FACEMATCH_MAX_BODY_BYTES` when that is more',
};

/** The parts of docs/configuration.md. */
export function settingsTable() {
  const rows = Object.entries(settings).map(([name, setting]) => [
    `\`${variableOf(name)}\``,
    setting.description,
    plainExpected(setting),
    derived[name] ?? plainDefault(setting),
  ]);
  return table(['variable', 'what', 'takes', 'default'], rows);
}

/** Describes the values of a setting in fewer words than its error message. */
function plainExpected({ expected }) {
  return expected
    .replace('a whole number from ', '')
    .replace('text without leading or trailing spaces', 'text')
    .replace(/^a comma-separated list/, 'a list')
    .replace('one of ', '')
    .replace(
      'an IP address without brackets, such as 127.0.0.1 or ::1, or a host name; without a port',
      'IP address or host name, without brackets and port',
    );
}

function plainDefault({ fallback }) {
  const text = String(fallback({}));
  return text === '' ? 'none' : `\`${text}\``;
}

/** docs/metrics.md. */
export function metricsPage() {
  return page(
    '# Metrics',
    '`GET /metrics` of the [admin listener](monitoring.md) returns these. Label values come from fixed tables and the key file, so clients ' +
      'cannot create series. Where all values of a label are listed, every series exists from startup.',
    metricsTable(),
  );
}

function metricsTable() {
  const listed = new Set();
  const rows = Object.entries(metricTable).map(([name, { type, help, labels = {} }]) => {
    const meanings = Object.entries(labels).map(([label, values]) => {
      const meaning = typeof values === 'string' ? values : listed.has(values) ? 'as above' : words(values);
      listed.add(values);
      return `\`${label}\`: ${meaning}`;
    });
    const histogram = type === 'histogram' ? ' (histogram)' : '';
    const by = meanings.length === 0 ? '' : `. Labels: ${meanings.join('; ')}`;
    return [`\`${metricName(name)}\``, `${help}${histogram}${by}`];
  });
  return table(['metric', 'what'], rows);
}

const words = (values) => values.map((value) => `\`${value}\``).join(', ');

/** The following functions write docs/api.md. */
export function endpointsTable() {
  const on = readConfig({}).endpoints;
  const rows = endpoints.map((endpoint) => {
    const { id, method, path, scope, docs } = endpoint;
    const endpointText = `\`${method} ${path}\``;
    return [
      'document' in endpoint ? endpointText : `[${endpointText}](#${id})`,
      { any: 'any', none: 'no key' }[scope] ?? `\`${scope}\``,
      docs.summary + (on.includes(id) ? '' : '; off by default'),
      'fields' in endpoint ? fieldsOf(endpoint) : '',
    ];
  });
  const groups = `The *analysis* fields are ${words(analysis)}. The *rejection* fields are ${words(rejection)}.`;
  return `${table(['endpoint', 'scope of the key', 'what', 'fields'], rows)}\n\n${groups}`;
}

const fieldNames = (id) => Object.keys(endpoints.find((one) => one.id === id).fields);
/** Options of every endpoint that analyses images, except the first. */
const analysis = fieldNames('detect').filter((name) => name !== 'image');
/** Options of the same endpoints, except detect. */
const rejection = fieldNames('match_person').filter(
  (name) => fieldNames('embed').includes(name) && !analysis.includes(name),
);

/** The fields of an endpoint, with the groups by their names. */
function fieldsOf({ fields }) {
  const names = Object.keys(fields);
  const groups = Object.entries({ analysis, rejection }).filter(([, group]) =>
    group.every((name) => names.includes(name)),
  );
  const own = names.filter((name) => !groups.some(([, group]) => group.includes(name)));
  return [words(own), ...groups.map(([name]) => `*${name}*`)].join(', ');
}

export function fieldsTable() {
  const fields = new Map(endpoints.flatMap((one) => ('fields' in one ? Object.entries(one.fields) : [])));
  const rows = [...fields].map(([name, rule]) => [
    `\`${name}\``,
    takenBy(rule),
    rule.kind === 'image' || rule.kind === 'token'
      ? 'required'
      : rule.default === undefined
        ? "the pack's own"
        : `\`${rule.default}\``,
    // The columns before say the rest.
    rule.description
      .replace(': JPEG, PNG or WebP, detected from the content', '')
      .replace('; the default depends on the model pack', ''),
  ]);
  return table(['field', 'takes', 'default', 'what'], rows);
}

function takenBy(rule) {
  switch (rule.kind) {
    case 'image':
      return 'an image';
    case 'token':
      return `text, at most ${rule.max} characters`;
    case 'decimal':
      return `${rule.min} to ${rule.max}`;
    case 'integer':
      return `${rule.min} or more`;
    case 'boolean':
      return 'a boolean';
    case 'choice':
      return words(rule.values);
  }
}

export function errorsTable() {
  const rows = errorCodes.map((code) => {
    const { status, detail, members = [] } = errorTable[code];
    return [String(status), `<a id="error-${code}"></a>\`${code}\``, detail, words(members)];
  });
  return table(['status', 'code', 'what to do', 'further members'], rows);
}

/** Members of a face, in whichever endpoint they occur. */
export function facesTable() {
  const rows = Object.entries(EmbeddedFace.shape).map(([name, schema]) => [
    `\`${name}\``,
    describedMember(schema),
  ]);
  return table(['member of a face', 'what'], rows);
}

function describedMember(schema) {
  const { description } = schema;
  if (description === undefined) return describedMember(schema.unwrap());
  if (!('shape' in schema)) return description;
  const members = Object.entries(schema.shape);
  return `${description}. ${members.map(([name, one]) => `\`${name}\`: ${one.description}`).join('; ')}`;
}

export function warningsTable() {
  const reasons = Object.entries(qualityReasons).map(([reason, meaning]) => `\`${reason}\`: ${meaning}`);
  const rows = Object.entries(warningCodes).map(([code, meaning]) => [
    `\`${code}\``,
    code === 'low_quality_face' ? `${meaning}. ${reasons.join('; ')}` : meaning,
  ]);
  return table(['code', 'what'], rows);
}
