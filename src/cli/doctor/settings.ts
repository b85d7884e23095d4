import { surveySettings, unknownVariables } from '../../config.ts';
import { type Finding, ok, warning, wrong } from './finding.ts';

const page = 'See docs/configuration.md';

/** A line for each variable that is wrong or looks misspelt, or one when all are right. */
export async function settings(): Promise<Finding[]> {
  const { faults, set } = surveySettings();
  const findings = [
    ...faults.map((fault) => wrong('settings', fault, page)),
    ...unknownVariables().map((name) => warning('settings', `${name} is not a setting and is ignored`, page)),
  ];
  if (findings.length > 0) return findings;
  const value = set.length === 0 ? 'every one has its default' : `valid; set: ${set.join(', ')}`;
  return [ok('settings', value)];
}
