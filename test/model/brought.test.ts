import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { preparePack } from '../../models/prepare/prepare.ts';
import { projectPath } from '../../src/config/paths.ts';
import { type PackDraft, packDirectory, readDraft, sha256 } from '../../src/engine/manifest.ts';
import { run } from '../server/support/cli.ts';
import { newFolder } from '../support/folder.ts';
import { standIn, standInPack } from './support/standin.ts';

/** Packs whose nets are files of the user, and nets of other packs. */

const folder = newFolder();

const brought = join(folder, 'brought.onnx');
writeFileSync(brought, standIn());
const silent = (): void => {};

/** A separate pack for each test, with only its manifest. */
let pack: string;
beforeEach(() => {
  pack = standInPack(folder);
  for (const file of readdirSync(pack)) if (file !== 'manifest.json') rmSync(join(pack, file));
});

function changeManifest(change: (draft: PackDraft) => void): void {
  const draft = readDraft(pack);
  change(draft);
  writeFileSync(join(pack, 'manifest.json'), JSON.stringify(draft));
}

describe("preparing a pack of the user's nets and shared nets", () => {
  test('collects all nets and does not change the other pack', async () => {
    const lines: string[] = [];
    expect(await preparePack(pack, (line) => lines.push(line), { embedder: brought })).toBe('prepared');
    expect(lines).toEqual([
      'Copying detect.onnx from the pack default',
      'Copying landmark.onnx from the pack default',
      'Using models/sface.onnx as sface.onnx',
    ]);
    expect(await preparePack(pack, silent)).toBe('ready');
    const hashOf = (directory: string, file: string) => sha256(readFileSync(join(directory, file)));
    for (const file of ['detect.onnx', 'landmark.onnx']) {
      expect(hashOf(pack, file)).toBe(hashOf(packDirectory('default'), file));
    }
  });

  test('names missing files, their project, their licence and where to get them', async () => {
    await expect(preparePack(pack, silent)).rejects.toThrow(
      'The pack stand-in needs a file that you bring: embedder (models/sface.onnx), of a project at 1, licence ' +
        'Apache-2.0. It is made by the test.\n' +
        `Then: node dist/models/prepare/index.js ${pack} --file embedder=PATH`,
    );
    expect(readdirSync(pack)).toEqual(['manifest.json']);
  });

  test.each<[string, (file: string) => void, RegExp]>([
    [
      'is another',
      (file) => writeFileSync(file, 'another'),
      /other\.onnx has SHA-256 [0-9a-f]{64} but the manifest says [0-9a-f]{64}: it is not models\/sface\.onnx of a project at 1/,
    ],
    ['is not there', (file) => rmSync(file, { force: true }), /reading .*other\.onnx \(ENOENT\)/],
  ])('writes nothing when the file %s', async (_, make, message) => {
    const other = join(folder, 'other.onnx');
    make(other);
    await expect(preparePack(pack, silent, { embedder: other })).rejects.toThrow(message);
    expect(readdirSync(pack)).toEqual(['manifest.json']);
  });

  test.each<[string, (draft: PackDraft) => void, RegExp]>([
    [
      'has another net by now',
      (draft) => {
        draft.detector.sha256 = sha256(Buffer.from('an older detector'));
      },
      /^The detector of the pack default has SHA-256 .* that pack has changed\. Take its member "detector" over/,
    ],
    [
      'is not there',
      (draft) => {
        draft.landmarks.from = { pack: 'no-such-pack' };
      },
      /^There is no model pack in .*no-such-pack/,
    ],
  ])('writes nothing when the other pack %s', async (_, change, message) => {
    changeManifest(change);
    await expect(preparePack(pack, silent, { embedder: brought })).rejects.toThrow(message);
    expect(readdirSync(pack)).toEqual(['manifest.json']);
  });
});

describe('the command that prepares', () => {
  const prepare = (...args: string[]) => run(projectPath('dist/models/prepare/index.js'), args, folder);

  test('takes a directory and files', async () => {
    const { code, stderr } = await prepare(pack, '--file', 'embedder=brought.onnx');
    expect({ code, last: stderr.trim().split('\n').at(-1) }).toEqual({
      code: 0,
      last: `Model pack ${pack}: prepared`,
    });
  });

  test.each([
    [['--file', 'embedder'], '--file: expected NET=PATH but received "embedder"'],
    [['--file', 'face=a.onnx'], '--file: expected NET=PATH but received "face=a.onnx"'],
    [['--file', '__proto__=a.onnx'], '--file: expected NET=PATH'],
    [['yunet'], 'Expected one pack but received'],
  ])('given %j says what it takes', async (args, message) => {
    const { code, stdout, stderr } = await prepare(pack, ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).toContain('usage: node dist/models/prepare/index.js [PACK] [--file NET=PATH]');
    expect(stderr).not.toContain('    at ');
  });
});
