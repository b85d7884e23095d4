// Results for a person at a terminal.
import { besideFigures, blocksOf, figureTable, floorTable, loadTable } from './tables.mjs';

/** Columns as wide as their widest cell; the first to the left, the others to the right. */
export function columns({ head, rows }) {
  const widths = head.map((title, i) =>
    Math.max(...[title, ...rows.map((row) => row[i])].map((s) => s.length)),
  );
  const line = (cells) =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line).join('\n');
}

const checkLine = ({ contender, block, asked, right, sensible }) =>
  `${sensible ? '✓' : '✗ left out:'} ${contender}, ${block}: ${right} of ${asked} pairs right`;

export function consoleText({ environment, contenders, samples, checks, figures }) {
  const titles = Object.fromEntries(Object.entries(contenders).map(([name, { title }]) => [name, title]));
  const { commit, cpu, node, date } = environment;
  const parts = [`${date}, commit ${commit}, ${cpu}, Node ${node}`];
  for (const block of blocksOf(samples)) {
    const table = loadTable(samples, block, titles);
    if (table.rows.length > 0) parts.push(`${block}\n${columns(table)}`);
  }
  const floors = floorTable(samples);
  if (floors.rows.length > 0) parts.push(`floor\n${columns(floors)}`);
  const asked = checks.filter((one) => one.asked > 0);
  if (asked.length > 0) parts.push(asked.map(checkLine).join('\n'));
  const beside = besideFigures(figures).map(([what, name, value]) => `  ${what}: ${name} ${value}`);
  parts.push([columns(figureTable(figures)), ...beside].join('\n'));
  return parts.join('\n\n');
}
