// deploy/grafana/facematch.json from the rows beside this file, as Grafana 11 and later export it.
import { datasource, drawn } from './panel.mjs';
import { answers } from './rows/answers.mjs';
import { load } from './rows/load.mjs';
import { service } from './rows/service.mjs';

const rows = [...service, ...load, ...answers];
/** Of Grafana's 24 columns: three panels side by side. */
const width = 8;
const height = 8;
const columns = 24 / width;

export function dashboard() {
  let id = 0;
  let y = 0;
  const panels = [];
  for (const { title, panels: described } of rows) {
    id += 1;
    panels.push({ id, type: 'row', title, collapsed: false, gridPos: { x: 0, y, w: 24, h: 1 }, panels: [] });
    y += 1;
    for (const [index, panel] of described.entries()) {
      id += 1;
      const gridPos = {
        x: (index % columns) * width,
        y: y + Math.floor(index / columns) * height,
        w: width,
        h: height,
      };
      panels.push({ id, gridPos, ...drawn(panel) });
    }
    y += Math.ceil(described.length / columns) * height;
  }
  return {
    uid: 'facematch',
    title: 'facematch',
    description: 'What each panel tells and what to do: docs/monitoring.md and docs/runbooks.md.',
    tags: ['facematch'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    timezone: 'browser',
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timepicker: {},
    links: [],
    annotations: { list: [restarts()] },
    templating: { list: variables() },
    panels,
  };
}

const restarts = () => ({
  name: 'Starts',
  datasource,
  enable: true,
  iconColor: 'blue',
  expr: 'changes(process_start_time_seconds{job="$job", instance=~"$instance"}[$__rate_interval]) > 0',
  titleFormat: 'start',
  textFormat: '{{instance}}',
});

function variables() {
  const query = (name, label, text, more) => ({
    type: 'query',
    name,
    label,
    datasource,
    query: { query: text, refId: name },
    definition: text,
    refresh: 2,
    sort: 1,
    ...more,
  });
  return [
    { type: 'datasource', name: 'datasource', label: 'Data source', query: 'prometheus' },
    query('job', 'Job', 'label_values(facematch_build_info, job)', { multi: false, includeAll: false }),
    query('instance', 'Replica', 'label_values(facematch_build_info{job="$job"}, instance)', {
      multi: true,
      includeAll: true,
      allValue: '.*',
      current: { text: 'All', value: '$__all' },
    }),
  ];
}
