// One panel of the dashboard.

// biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's own
export const datasource = { type: 'prometheus', uid: '${datasource}' };

/** `queries`: PromQL → legend. `limits`: a colour from a value on; colours before the first are green. */
export function drawn({ title, description, unit, type = 'timeseries', queries, stacked, max, limits }) {
  const steps = [{ color: 'green', value: null }];
  for (const [color, value] of Object.entries(limits ?? {})) steps.push({ color, value });
  const targets = Object.entries(queries).map(([expr, legendFormat], index) => ({
    refId: String.fromCharCode(65 + index),
    datasource,
    expr,
    legendFormat,
    range: type !== 'stat',
    instant: type === 'stat',
    ...(type === 'heatmap' && { format: 'heatmap' }),
  }));
  return {
    type,
    title,
    description,
    datasource,
    targets,
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        ...(max !== undefined && { max }),
        color: { mode: type === 'stat' ? 'thresholds' : 'palette-classic' },
        thresholds: { mode: 'absolute', steps },
        ...(type === 'timeseries' && { custom: lines({ stacked, limits }) }),
      },
      overrides: [],
    },
    options: options[type],
  };
}

const lines = ({ stacked, limits }) => ({
  drawStyle: 'line',
  lineWidth: 1,
  fillOpacity: stacked ? 40 : 10,
  showPoints: 'never',
  spanNulls: false,
  stacking: { mode: stacked ? 'normal' : 'none', group: 'A' },
  thresholdsStyle: { mode: limits ? 'dashed' : 'off' },
});

const options = {
  timeseries: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  stat: {
    colorMode: 'value',
    graphMode: 'none',
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    textMode: 'auto',
  },
  heatmap: {
    calculate: false,
    cellGap: 1,
    color: { mode: 'scheme', scheme: 'Oranges', steps: 64 },
    tooltip: { mode: 'single', showColorScale: true },
    yAxis: { unit: 'percent' },
  },
};
