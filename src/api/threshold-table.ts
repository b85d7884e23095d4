import { promisedRate } from '../calibration.ts';
import { table } from './markdown-text.ts';

/**
 * The table of docs/thresholds.md, out of the text of docs/model-card.md: what a percent promises, and what it was seen to do.
 * Throws an Error when the card has no such rows.
 */
export function thresholdTable(modelCard: string): string {
  const rows = modelCard
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .filter(([, mode, score]) => mode === 'balance' && score === 'with the cohort')
    .flatMap(([, , , threshold = '', , lfwTar = '', , rmfdTar = '']) => {
      const percent = /^(\d+) percent$/.exec(threshold)?.[1];
      return percent === undefined ? [] : [row(Number(percent), lfwTar, rmfdTar)];
    });
  if (rows.length === 0) throw new Error('docs/model-card.md has no thresholds in percent');
  return table(
    [
      'threshold',
      'strangers who pass, as promised',
      'same person, press photos',
      'same person, small web photos',
    ],
    rows,
  );
}

function row(percent: number, ...shares: string[]): string[] {
  return [String(percent), `1 in ${Math.round(1 / promisedRate(percent)).toLocaleString('en')}`, ...shares];
}
