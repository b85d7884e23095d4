import { cpSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createTarGzip } from 'nanotar';
import { expect, test } from 'vitest';
import { projectPath } from '../../../src/config/paths.ts';
import { readManifest } from '../../../src/engine/manifest.ts';
import { sha256, verifyPack } from '../../../src/engine/pack-files.ts';
import { sharedFolder } from '../../../test/fixtures/images.ts';
import { uncalibratedPack } from '../../../test/fixtures/packs.ts';
import { facematch } from '../../../test/server/support/cli.ts';
import type { Json } from '../../../test/server/support/client.ts';
import { newFolder } from '../../../test/support/folder.ts';
import { publishedSets } from '../../published-sets.ts';

const shared = sharedFolder();
test.skipIf(!shared)(
  'a set from a server on loopback makes a calibrated pack, whose rates hold for people who are not in it',
  { timeout: 600_000 },
  async () => {
    const folder = newFolder();
    const pack = uncalibratedPack(folder);
    const images = join(shared!, 'data/lfw-dev/images');
    const people = readdirSync(images).sort();
    const inSet = people.slice(0, 110).flatMap((person) => {
      const [first] = readdirSync(join(images, person)).sort();
      return [{ name: `lfw/${person}/${person}_0001.jpg`, data: readFileSync(join(images, person, first!)) }];
    });
    const archive = Buffer.from(await createTarGzip(inSet));
    const server = createServer((_, response) => response.end(archive)).listen(0);
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/lfw.tgz`;
    const lfw = { ...publishedSets.lfw!, archive: { url, bytes: archive.length, sha256: sha256(archive) } };
    // Compiled: they start threads.
    const commands = projectPath('dist/lab/commands');
    const { openSets }: typeof import('../../commands/open-sets.ts') = await import(
      `${commands}/open-sets.js`
    );
    const { calibratePack }: typeof import('../../commands/calibrate-pack.ts') = await import(
      `${commands}/calibrate-pack.js`
    );
    const sets = await openSets('lfw', { lfw }, join(folder, 'cache'));
    server.close();
    // So few people that the check may contradict the table.
    const how = { pack, check: true, write: true, force: true };
    expect(await calibratePack(sets, how)).toMatchObject({ written: true, known_for: [lfw.about] });

    const manifest = readManifest(pack);
    await verifyPack(pack, manifest);
    const told = `Labeled Faces in the Wild (${lfw.about}): 110 images of 110 people`;
    expect(manifest.calibration!.balance.fitted_on).toBe(told);
    const env = { FACEMATCH_PACK: pack };
    expect((await facematch('packs list', folder, env)).stdout).toContain(`calibrated for  ${told}`);

    for (const person of people.slice(110, 260)) {
      mkdirSync(join(folder, 'others'), { recursive: true });
      const [first] = readdirSync(join(images, person)).sort();
      cpSync(join(images, person, first!), join(folder, 'others', `${person}.jpg`));
    }
    const judged = await facematch('eval --people others=others --json', folder, env);
    const { everybody }: Json = JSON.parse(judged.stdout).people[0];
    const [{ percent, promised, false_match }] = everybody.by_percent;
    expect(percent).toBe(50);
    expect(false_match.rate / promised).toBeGreaterThan(0.3);
    expect(false_match.interval[0] / promised).toBeLessThan(1.3);
  },
);
