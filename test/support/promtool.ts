import { spawnSync } from 'node:child_process';
import { projectPath } from '../../src/config/paths.ts';

/** The system's promtool, or the one that set-up unpacked; undefined, and said, where there is neither. */
export const promtool = ['promtool', projectPath('.cache/promtool/usr/bin/promtool')].find(
  (program) => spawnSync(program, ['--version']).status === 0,
);

if (promtool === undefined) {
  process.stderr.write('There is no promtool (Debian package prometheus): what it checks is skipped\n');
}
