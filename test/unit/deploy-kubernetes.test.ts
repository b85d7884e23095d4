import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readConfig, settings, unknownVariables } from '../../src/config.ts';
import { readKeyFile } from '../../src/gate/key-file.ts';
import { projectPath } from '../../src/paths.ts';
import { metricName, metricTable } from '../../src/telemetry/metric-table.ts';
import { deployed, type Manifest, manifestsOf, ruleFile } from '../support/deployed.ts';
import { faultOf, typeFaults } from '../support/manifest-schema.ts';

/** The manifests of deploy/kubernetes, each by its schema and all of them together. */

const filesOf = (folder: string) =>
  readdirSync(projectPath(`deploy/kubernetes/${folder}`)).map((file) => `kubernetes/${folder}/${file}`);
const files = [...filesOf('base'), ...filesOf('monitoring')];
const isObject = ({ kind }: Manifest) => kind !== undefined && kind !== 'Kustomization';
const objects: [file: string, manifest: Manifest][] = files.flatMap((file) =>
  manifestsOf(file)
    .filter(isObject)
    .map((manifest) => [file, manifest] as [string, Manifest]),
);
const all = objects.map(([, manifest]) => manifest);
const only = (kind: string, name = 'facematch'): Manifest => {
  const found = all.filter((manifest) => manifest.kind === kind && manifest.metadata.name === name);
  expect(found.map(({ metadata }) => metadata.name)).toEqual([name]);
  return found[0];
};

const deployment = only('Deployment');
const pod = deployment.spec.template;
const [server] = pod.spec.containers;
const env = Object.fromEntries(server.env.map(({ name, value }: Manifest) => [name, value]));
const config = readConfig(env);

describe('every manifest', () => {
  test('was found', () => {
    const kinds =
      'Deployment HorizontalPodAutoscaler Namespace NetworkPolicy PodDisruptionBudget PrometheusRule Secret Service Service ServiceAccount ServiceMonitor';
    expect(all.map(({ kind }) => kind).sort()).toEqual(kinds.split(' '));
  });

  test.each(objects)('%s is of its schema', (_, manifest) => {
    expect(faultOf(manifest)).toBe('');
  });

  test('has no member that its type does not have', () => {
    expect(typeFaults(all)).toBe('');
  });
});

describe('the kustomizations', () => {
  test.each(['base', 'monitoring'])('%s holds every file of its folder that is to be applied', (folder) => {
    const file = `kubernetes/${folder}/kustomization.yaml`;
    const [{ resources, patches = [], namespace }] = manifestsOf(file);
    const named = [...resources, ...patches.map(({ path }: Manifest) => path)].filter(
      (path) => !path.startsWith('..'),
    );
    // The example is to be copied, the other is of another program.
    const aside = ['kustomization.yaml', 'secret.example.yaml', 'prometheus-adapter.yaml'];
    const there = filesOf(folder).map((path) => path.slice(dirname(path).length + 1));
    expect(named.sort()).toEqual(there.filter((path) => !aside.includes(path)));
    expect(namespace).toBe(only('Namespace').metadata.name);
  });
});

describe('the pods', () => {
  test('get settings that there are, and listen where others reach them', () => {
    expect(unknownVariables(env)).toEqual([]);
    for (const name of Object.keys(env))
      expect(Object.keys(settings)).toContain(name.slice(10).toLowerCase());
    expect([config.host, config.admin_host]).toEqual(['0.0.0.0', '0.0.0.0']);
  });

  test('name the ports of their settings', () => {
    expect(server.ports).toEqual([
      { name: 'http', containerPort: config.port },
      { name: 'admin', containerPort: config.admin_port },
    ]);
  });

  test('are probed at paths of the admin listener: ready before they serve, alive or restarted', () => {
    const asked = ['startupProbe', 'readinessProbe', 'livenessProbe'].map((probe) => server[probe].httpGet);
    expect(asked).toEqual([
      { path: '/readyz', port: 'admin' },
      { path: '/readyz', port: 'admin' },
      { path: '/healthz', port: 'admin' },
    ]);
  });

  test('have the time to stop that a shutdown takes', () => {
    const { seconds } = server.lifecycle.preStop.sleep;
    const needed = seconds + config.shutdown_ms / 1000;
    expect(pod.spec.terminationGracePeriodSeconds).toBeGreaterThan(needed);
    expect(deployment.spec.strategy.rollingUpdate.maxUnavailable).toBe(0);
  });

  test('may do no more than they must, as the strictest Pod Security Standard asks', () => {
    expect(pod.spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(pod.spec.securityContext.runAsUser).toBeGreaterThan(0);
    expect(server.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(pod.spec.automountServiceAccountToken).toBe(false);
    expect(only('ServiceAccount', pod.spec.serviceAccountName).automountServiceAccountToken).toBe(false);
  });

  test('have requests and limits, and a limit of CPUs that tells how many workers to start', () => {
    const { requests, limits } = server.resources;
    expect(Object.keys(requests)).toEqual(Object.keys(limits));
    expect(Number(limits.cpu)).toBeGreaterThanOrEqual(1);
    expect(Number.parseInt(limits.memory, 10)).toBeGreaterThan(Number.parseInt(requests.memory, 10));
  });

  test('find their keys in a Secret that they can read and others cannot, mounted as a folder', () => {
    const [mount] = server.volumeMounts;
    const [volume] = pod.spec.volumes;
    expect(mount).toEqual({ name: volume.name, mountPath: dirname(config.keys_file), readOnly: true });
    // readKeyFile refuses what others may read, or the group may write (0o037); the group of the mount is fsGroup.
    expect(volume.secret.defaultMode & 0o037).toBe(0);
    expect(volume.secret.defaultMode & 0o040).toBe(0o040);
    expect(pod.spec.securityContext.fsGroup).toBe(pod.spec.securityContext.runAsGroup);
    const secret = only('Secret', volume.secret.secretName);
    const folder = mkdtempSync(projectPath('build/keys-'));
    const file = join(folder, 'keys.json');
    writeFileSync(file, secret.stringData['keys.json'], { mode: volume.secret.defaultMode });
    expect(readKeyFile(file)).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  test('are spread, counted and kept by selectors that fit their labels', () => {
    const selectors = [
      deployment.spec.selector.matchLabels,
      ...pod.spec.topologySpreadConstraints.map(({ labelSelector }: Manifest) => labelSelector.matchLabels),
      only('Service').spec.selector,
      only('Service', 'facematch-admin').spec.selector,
      only('PodDisruptionBudget').spec.selector.matchLabels,
      only('NetworkPolicy').spec.podSelector.matchLabels,
    ];
    for (const selector of selectors) {
      expect(Object.keys(selector).length).toBeGreaterThan(0);
      expect(pod.metadata.labels).toMatchObject(selector);
    }
  });
});

describe('who reaches what', () => {
  const portNames = server.ports.map(({ name }: Manifest) => name);

  test('services and policy name ports of the pods', () => {
    const named = [
      ...only('Service').spec.ports.map(({ targetPort }: Manifest) => targetPort),
      ...only('Service', 'facematch-admin').spec.ports.map(({ targetPort }: Manifest) => targetPort),
      ...only('NetworkPolicy').spec.ingress.flatMap(({ ports }: Manifest) =>
        ports.map(({ port }: Manifest) => port),
      ),
    ];
    expect(named).toEqual(['http', 'admin', 'http', 'admin']);
    for (const name of named) expect(portNames).toContain(name);
  });

  test('callers do not reach the admin port, and the server reaches nobody', () => {
    expect(only('Service').spec.ports.map(({ targetPort }: Manifest) => targetPort)).toEqual(['http']);
    const { ingress, egress, policyTypes } = only('NetworkPolicy').spec;
    expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(egress).toEqual([]);
    const toAdmin = ingress.filter(({ ports }: Manifest) =>
      ports.some(({ port }: Manifest) => port === 'admin'),
    );
    expect(toAdmin.map(({ from }: Manifest) => from)).toEqual([
      [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } } }],
    ]);
  });

  test('Prometheus finds the admin service alone, and calls the job as the rules do', () => {
    const { selector, endpoints, jobLabel } = only('ServiceMonitor').spec;
    const fits = all.filter(
      ({ kind, metadata }) =>
        kind === 'Service' &&
        Object.entries(selector.matchLabels).every(([label, value]) => metadata.labels[label] === value),
    );
    expect(fits.map(({ metadata }) => metadata.name)).toEqual(['facematch-admin']);
    const [admin] = fits;
    expect(admin.metadata.labels[jobLabel]).toBe('facematch');
    expect(JSON.stringify(ruleFile)).toContain('job=\\"facematch\\"');
    expect(endpoints).toMatchObject([{ port: admin.spec.ports[0].name, path: '/metrics' }]);
  });
});

describe('scaling', () => {
  const autoscaler = only('HorizontalPodAutoscaler');
  const [adapter] = manifestsOf('kubernetes/monitoring/prometheus-adapter.yaml');
  const [patch] = manifestsOf('kubernetes/monitoring/autoscaler.patch.yaml').flat();

  test('is of the Deployment, which therefore has no number of its own', () => {
    const { apiVersion, kind, metadata } = deployment;
    expect(autoscaler.spec.scaleTargetRef).toEqual({ apiVersion, kind, name: metadata.name });
    expect(deployment.spec.replicas).toBeUndefined();
    expect(autoscaler.spec.minReplicas).toBeGreaterThan(only('PodDisruptionBudget').spec.maxUnavailable);
  });

  test('asks for a metric of the table that the adapter gives, below what the queue holds', () => {
    const { metric, target } = patch.value.pods;
    expect(Object.keys(metricTable).map(metricName)).toContain(metric.name);
    const [rule] = adapter.rules;
    expect(rule.name.as).toBe(metric.name);
    expect(rule.seriesQuery).toContain(`${metric.name}{`);
    const capacity = readConfig({ ...env, FACEMATCH_WORKERS: server.resources.limits.cpu }).queue;
    expect(Number(target.averageValue)).toBeLessThan(capacity);
  });
});

test('no manifest carries a key or names a machine', () => {
  for (const file of files)
    expect(deployed(file)).not.toMatch(/fm_\w+_|"sha256"|\d+\.\d+\.\d+\.\d+(?<!0\.0\.0\.0)/);
});
