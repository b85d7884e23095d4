import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { preparePack } from '../../../models/prepare/prepare.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { loadPack } from '../../../src/engine/load-addon.ts';
import { type Manifest, packDirectory, readManifest } from '../../../src/engine/manifest.ts';
import { sha256 } from '../../../src/engine/pack-files.ts';
import { analyseOptions, smallSample } from '../../fixtures/images.ts';
import { type Kind, smallEmbedder, smallEmbedderPack } from '../../fixtures/nets.ts';
import { run } from '../../server/support/cli.ts';
import { newFolder } from '../../support/folder.ts';

/** Tests packs that contain the user's own nets and nets of other packs. */

const folder = newFolder();

const brought = join(folder, 'brought.onnx');
writeFileSync(brought, smallEmbedder());
const silent = (): void => {};

/** A pack for each test, which has only a manifest. */
let pack: string;
beforeEach(() => {
  pack = smallEmbedderPack(folder);
  for (const file of readdirSync(pack)) if (file !== 'manifest.json') rmSync(join(pack, file));
});

describe("preparing a pack of the user's nets and of another pack's nets", () => {
  test('collects all models, and copies those of the other pack unchanged', async () => {
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
      'The pack small-embedder needs a file that you must provide: embedder (models/sface.onnx), of a project at 1, licence ' +
        'Apache-2.0. The test makes it.\n' +
        `Then run: node dist/models/prepare/index.js ${pack} --file embedder=PATH`,
    );
    expect(readdirSync(pack)).toEqual(['manifest.json']);
  });

  test.each<[string, (file: string) => void, RegExp]>([
    [
      'has another hash',
      (file) => writeFileSync(file, 'another'),
      /other\.onnx has the SHA-256 [0-9a-f]{64}, but the manifest expects [0-9a-f]{64}: the file is not models\/sface\.onnx of a project at 1/,
    ],
    ['is missing', (file) => rmSync(file, { force: true }), /reading .*other\.onnx \(ENOENT\)/],
  ])('writes nothing when the file %s', async (_what, make, message) => {
    const other = join(folder, 'other.onnx');
    make(other);
    await expect(preparePack(pack, silent, { embedder: other })).rejects.toThrow(message);
    expect(readdirSync(pack)).toEqual(['manifest.json']);
  });

  test.each<[string, (draft: Manifest) => unknown, RegExp]>([
    [
      'has changed',
      ({ detector }) => Object.assign(detector, { sha256: sha256(Buffer.from('an older detector')) }),
      /^The detector of the pack default has the SHA-256 .* that pack has changed\. Copy its member "detector"/,
    ],
    [
      'is missing',
      ({ landmarks }) => Object.assign(landmarks, { from: { pack: 'no-such-pack' } }),
      /^There is no model pack in .*no-such-pack/,
    ],
  ])('writes nothing when the other pack %s', async (_what, change, message) => {
    const draft = readManifest(pack);
    change(draft);
    writeFileSync(join(pack, 'manifest.json'), JSON.stringify(draft));
    await expect(preparePack(pack, silent, { embedder: brought })).rejects.toThrow(message);
    expect(readdirSync(pack)).toEqual(['manifest.json']);
  });
});

describe('the prepare command', () => {
  const prepare = (...args: string[]) => run(projectPath('dist/models/prepare/index.js'), args, folder);

  test('accepts a directory and files', async () => {
    const { code, stderr } = await prepare(pack, '--file', 'embedder=brought.onnx');
    expect([code, stderr.trim().split('\n').at(-1)]).toEqual([0, `Model pack ${pack}: prepared`]);
  });

  test.each([
    [['--file', 'embedder'], '--file: expected NET=PATH but received "embedder"'],
    [['--file', 'face=a.onnx'], '--file: expected NET=PATH but received "face=a.onnx"'],
    [['--file', '__proto__=a.onnx'], '--file: expected NET=PATH'],
    [['yunet'], 'Expected one pack but received'],
  ])('prints its usage for %j', async (args, message) => {
    const { code, stdout, stderr } = await prepare(pack, ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).toContain('usage: node dist/models/prepare/index.js [PACK] [--file NET=PATH]');
    expect(stderr).not.toContain('    at ');
  });
});

/**
 * Tests each kind of embedder that docs/packs.md lists. The tests use a small net, because the real files are not
 * available everywhere. All kinds return embeddings of the same direction for a face.
 */

const photo = await smallSample(1, 960);

const analysed = (pack: string) => loadPack(pack, readManifest(pack)).analyse(pack, photo, analyseOptions);

function embeddingsOf(kind: Kind): Float32Array[] {
  const { channels = 'rgb', mean = [0, 0, 0], scale = 1, dimensions = 128 } = kind;
  const same = mean.every((one) => one === mean[0]);
  const input = { channels, mean: same ? mean[0] : mean, scale, dimensions };
  const result = analysed(smallEmbedderPack(folder, input, smallEmbedder(kind)));
  if (!result.ok) throw new Error(JSON.stringify(result));
  // Without a cohort, similarities are cosines.
  expect(result.image.faces.every(({ cohort_score }) => cohort_score === 0)).toBe(true);
  return result.image.faces.map(({ embedding }) => embedding);
}

const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);

const kinds: [name: string, kind: Kind][] = [
  ['ArcFace', { mean: [127.5, 127.5, 127.5], scale: 1 / 127.5, dimensions: 512, batch: 'open' }],
  ['AdaFace', { channels: 'bgr', mean: [127.5, 127.5, 127.5], scale: 1 / 127.5, dimensions: 512 }],
  ['SFace', {}],
  ['a mean for each plane', { mean: [123.7, 116.3, 103.5], scale: 1 / 58 }],
  ['a mean for each plane, BGR', { channels: 'bgr', mean: [103.5, 116.3, 123.7], scale: 1 / 58 }],
  ['unit vectors', { normalised: true }],
  ['1,024 numbers', { dimensions: 1024 }],
  ['weights of half precision', { halves: 'weights', batch: 'open' }],
];

test.each(kinds)('returns the same direction for the same face with %s', (_what, kind) => {
  const expected = embeddingsOf({ dimensions: kind.dimensions ?? 128 });
  const actual = embeddingsOf(kind);
  expect(actual.length).toBe(3);
  for (const [i, embedding] of actual.entries()) {
    expect(dot(embedding, embedding)).toBeCloseTo(1, 5);
    expect(dot(embedding, expected[i]!)).toBeGreaterThan(kind.halves ? 0.9999 : 0.999999);
  }
});

test.each([
  ['channel order', { channels: 'bgr' }],
  ['mean', { mean: 127.5 }],
  ['scale', { scale: 1 / 127.5 }],
])('returns another direction with a wrong %s', (_what, change) => {
  const [expected] = embeddingsOf({});
  const wrong = analysed(smallEmbedderPack(folder, change));
  if (!wrong.ok) throw new Error(JSON.stringify(wrong));
  expect(dot(wrong.image.faces[0]!.embedding, expected!)).toBeLessThan(0.999);
});
