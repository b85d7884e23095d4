// deploy/kubernetes/monitoring/prometheus-rule.yaml: the rules of deploy/prometheus/alerts.yml as the Prometheus operator reads them.
import { readFileSync } from 'node:fs';

const head = `# Made by scripts/generate-docs.mjs of deploy/prometheus/alerts.yml; change that instead.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: facematch
  labels:
    app.kubernetes.io/name: facematch
spec:
`;

export function prometheusRule() {
  const rules = readFileSync('deploy/prometheus/alerts.yml', 'utf8');
  const groups = rules.slice(rules.indexOf('groups:')).replaceAll(/^(?=.)/gm, '  ');
  return `${head}${groups}`;
}
