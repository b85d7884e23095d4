import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { projectPath } from '../../../src/config/paths.ts';
import type { Home } from './server.ts';

/** Holds the workers of a server at the door of the addon (gated-addon.cjs). */
export class WorkerGate {
  readonly #file: string;
  readonly env: Record<string, string>;

  constructor(home: Home) {
    this.#file = join(home.folder, 'gate');
    this.env = {
      GATE_FILE: this.#file,
      GATE_ADDON: process.env.FACEMATCH_ADDON ?? projectPath('build/addon/Release/facematch.node'),
      FACEMATCH_ADDON: fileURLToPath(new URL('./gated-addon.cjs', import.meta.url)),
    };
  }

  close(): void {
    writeFileSync(this.#file, '');
  }

  open(): void {
    rmSync(this.#file, { force: true });
  }
}
