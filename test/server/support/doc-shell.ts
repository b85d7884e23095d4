import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import sharp from 'sharp';
import { endpointIds } from '../../../src/config/config.ts';
import { projectPath } from '../../../src/config/paths.ts';
import { livePack, redIsLive } from '../../fixtures/liveness.ts';
import { sample } from '../../fixtures/pictures.ts';
import { newFolder } from '../../support/folder.ts';
import { execute, type Outcome } from './cli.ts';
import { match } from './client.ts';
import { TestServer } from './server.ts';

/** Names that the pages give to photos, and which sample each is. One woman is in 1 and 3. */
const photos = {
  'passport.jpg': 1,
  'selfie.jpg': 3,
  'one.jpg': 1,
  'two.jpg': 3,
  'three.jpg': 2,
  'alice.jpg': 1,
  'bob.png': 2,
  'a.jpg': 1,
  'b.jpg': 3,
  'b.webp': 3,
  'group.jpg': 4,
  'photos/1.jpg': 1,
  'photos/2.jpg': 2,
} as const;

/** A reader's shell: bash in a folder with the photos that the pages name, and a server. */
export class DocShell {
  readonly folder = newFolder();
  readonly server: TestServer;

  private constructor(server: TestServer) {
    this.server = server;
    // Where npx and the PATH below look for the program.
    mkdirSync(join(this.folder, 'node_modules/.bin'), { recursive: true });
    symlinkSync(projectPath('scripts/facematch.mjs'), join(this.folder, 'node_modules/.bin/facematch'));
    // The README's photos.
    symlinkSync(projectPath('node_modules/@vladmandic'), join(this.folder, 'node_modules/@vladmandic'));
  }

  static async start(): Promise<DocShell> {
    // The pages show every endpoint, and live scores.
    const pack = livePack(newFolder(), [{ net: redIsLive, scale: 2.7 }]);
    const env = { FACEMATCH_ENDPOINTS: endpointIds.join(','), FACEMATCH_PACK: pack };
    const shell = new DocShell(await TestServer.start({ env }));
    for (const [name, number] of Object.entries(photos)) {
      mkdirSync(dirname(join(shell.folder, name)), { recursive: true });
      await sharp(sample(number)).toFile(join(shell.folder, name));
    }
    await shell.#writeEmbeddings();
    return shell;
  }

  /** A question to match/embeddings: how alike two people of one photo are. */
  async #writeEmbeddings(): Promise<void> {
    const { body } = await match(this.server, { image: sample(1) }, { path: '/API/v1.0/face/embed/upload' });
    const [first, second] = body.image.faces;
    const candidates = [{ id: 'second', embedding: second.embedding }];
    const { pack, version, accuracy_mode } = body.embedding;
    const question = { embedding: first.embedding, candidates, pack, version, accuracy_mode };
    writeFileSync(join(this.folder, 'embeddings.json'), JSON.stringify(question));
  }

  /** With the addresses of the server in place of those that the pages show. */
  reachable(text: string): string {
    return text
      .replaceAll(/http:\/\/127\.0\.0\.1:808[01]/g, this.server.address)
      .replaceAll(/http:\/\/127\.0\.0\.1:909[01]/g, this.server.adminAddress);
  }

  /** Runs a line to its end; a pipe fails with any of its parts. */
  run(line: string): Promise<Outcome> {
    const { folder, server } = this;
    const env = {
      PATH: `${folder}/node_modules/.bin:${process.env.PATH}`,
      HOME: folder,
      // Bash takes a shell without it for one that was logged in to, and reads its start files.
      SHLVL: '1',
      npm_config_offline: 'true',
      FACEMATCH_KEYS_FILE: server.home.keysFile,
      FACEMATCH_URL: server.address,
      FACEMATCH_KEY: server.key,
      KEY: server.key,
    };
    const args = ['-euo', 'pipefail', '-c', this.reachable(line)];
    return execute('bash', args, folder, env);
  }

  stop(): Promise<void> {
    return this.server.stop();
  }
}
