import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { wilson } from '../../src/lab/metrics.ts';
import { livePack, redAndBlue, redIsLive } from '../fixtures/liveness.ts';
import { blank } from '../fixtures/pictures.ts';
import { newFolder } from '../support/folder.ts';
import { program, run } from './support/cli.ts';

/** `facematch eval --attacks` with nets that take pictures that are rather red for live. */

const folder = newFolder();
const pack = livePack(folder, [{ net: redIsLive, scale: 2.7 }]);
const [red, blue] = await redAndBlue();
const empty = await blank(300, 300, 'png');

function put(path: string, bytes: Buffer): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), bytes);
}
put('set/live/a.png', red);
put('set/live/b/c.png', red);
put('set/live/b/d.png', blue);
put('set/live/none.png', empty);
put('set/attack/print/a.png', blue);
put('set/attack/print/none.png', empty);
put('set/attack/print/broken.png', Buffer.from('no picture'));
put('set/attack/replay/phone/a.png', red);
put('set/attack/replay/b.png', blue);
put('set/attack/by-itself.png', blue);
put('only/live/a.png', red);
put('nothing/elsewhere/a.png', red);

const evaluate = (args: string[], FACEMATCH_PACK = pack) =>
  run(program, ['eval', '--mode', 'fast', ...args], folder, { FACEMATCH_PACK });

const figures = (errors: number, scored: number, non_responses: number) => ({
  pictures: scored + non_responses,
  non_responses,
  errors,
  error_rate: errors / scored,
  error_interval: wilson(errors, scored),
  non_response_rate: non_responses / (scored + non_responses),
});

describe('facematch eval --attacks', () => {
  test('has both rates, by type the worst first, and pictures without a face apart', async () => {
    const { code, stdout } = await evaluate(['--attacks', 'set', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      pack: { name: 'live', version: expect.any(String) },
      threshold: 0.5,
      attacks: [
        { type: 'replay', ...figures(1, 2, 0) },
        { type: 'attack', ...figures(0, 1, 0) },
        { type: 'print', ...figures(0, 1, 1) },
      ],
      live: figures(1, 3, 1),
      acer: (1 / 2 + 1 / 3) / 2,
      failures: { 'attack/print/broken.png': 'unsupported_image_format' },
    });
  });

  test('says them in the words of the standard', async () => {
    const { stdout, stderr } = await evaluate(['--attacks', 'set']);
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      expect.stringMatching(/^pack live \S+, live from a live_score of 0\.5; 95 % intervals$/),
      'APCER  50.00 %, that of the worst type of attack',
      'APCER  replay  50.00 % [9.45, 90.55]: 1 of 2 taken for live',
      'APCER  attack  0.00 % [0.00, 79.35]: 0 of 1 taken for live',
      'APCER  print   0.00 % [0.00, 79.35]: 0 of 1 taken for live',
      'BPCER  live    33.33 % [6.15, 79.23]: 1 of 3 taken for attacks',
      'ACER   41.67 %, the mean of both',
      'APNRR  replay  0.00 %: 0 of 2 without a face',
      'APNRR  attack  0.00 %: 0 of 1 without a face',
      'APNRR  print   50.00 %: 1 of 2 without a face',
      'BPNRR  live    25.00 %: 1 of 4 without a face',
      'could not be read  1: attack/print/broken.png (unsupported_image_format)',
      '',
    ]);
  });

  test('with live people alone has the one rate', async () => {
    const { stdout } = await evaluate(['--attacks', 'only']);
    expect(stdout).toContain('APCER  no attacks were given\nBPCER  live  0.00 % [0.00, 79.35]: 0 of 1 ');
    expect(stdout).toContain('ACER   –, the mean of both');
  });

  test.each<[string[], number, string, string?]>([
    [['--attacks', 'set', '--held-out-cohort'], 2, '--attacks goes with --mode and --json only'],
    [['pairs.tsv', '--attacks', 'set'], 2, '--attacks goes with --mode and --json only'],
    [['--attacks', 'nothing'], 1, 'nothing should have images in folders live and attack'],
    [['--attacks', 'set'], 1, 'The pack default has no liveness nets', 'default'],
  ])('%j fails with %i', async (args, code, message, its) => {
    const outcome = await evaluate(args, its);
    expect({ code: outcome.code, stdout: outcome.stdout }).toEqual({ code, stdout: '' });
    expect(outcome.stderr).toContain(message);
  });
});
