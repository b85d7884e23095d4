import { appendFileSync, cpSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { packDirectory } from '../../src/engine/pack.ts';
import { built } from './support/cli.ts';
import { diagnose } from './support/doctor.ts';

/** The doctor on model packs that are really damaged. */

let folder: string;

describe.skipIf(!built)('the model pack', () => {
  let pack: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'facematch-doctor-'));
    pack = join(folder, 'pack');
    cpSync(packDirectory('default'), pack, { recursive: true });
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const look = () => diagnose(folder, { FACEMATCH_PACK: pack });

  test.each([
    {
      role: 'embedder',
      damage: () => truncateSync(join(pack, 'embed.onnx'), 5000),
      value: 'embed.onnx is not the one',
    },
    {
      role: 'detector',
      damage: () => appendFileSync(join(pack, 'detect.onnx'), ' '),
      value: 'detect.onnx is not the one',
    },
    {
      role: 'landmarks',
      damage: () => rmSync(join(pack, 'landmark.onnx')),
      value: 'landmark.onnx is missing',
    },
    {
      role: 'cohort',
      damage: () => truncateSync(join(pack, 'cohort.i8')),
      value: 'cohort.i8 is not the one',
    },
    {
      role: 'human',
      damage: () => rmSync(join(pack, 'human.i8')),
      value: 'human.i8 is missing',
    },
  ])('with a $role that is damaged or missing is wrong in that line alone', async ({
    role,
    damage,
    value,
  }) => {
    damage();
    const { code, of, findings } = await look();
    expect(code).toBe(1);
    expect(of(role)).toMatchObject({
      status: 'wrong',
      value: expect.stringContaining(value),
      cure: expect.stringMatching(/npm run setup|from the repository/),
    });
    expect(of('nets').status).toBe('unknown');
    expect(findings.filter(({ status }) => status === 'wrong')).toHaveLength(1);
  });

  test.each([
    {
      what: 'broken',
      damage: () => truncateSync(join(pack, 'manifest.json'), 100),
      value: 'is not valid JSON',
    },
    { what: 'missing', damage: () => rmSync(join(pack, 'manifest.json')), value: 'There is no model pack' },
    {
      what: 'of another form',
      damage: () => writeFileSync(join(pack, 'manifest.json'), '{}'),
      value: 'name: ',
    },
  ])('whose manifest is $what is one line', async ({ damage, value }) => {
    damage();
    const { code, of, findings } = await look();
    expect(code).toBe(1);
    expect(of('model pack')).toMatchObject({ status: 'wrong', value: expect.stringContaining(value) });
    expect(of('model pack').value).not.toContain('\n');
    expect(findings.map(({ what }) => what)).not.toContain('embedder');
  });
});
