import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder, which goes away with the run (compile.ts). */
export const newFolder = () => mkdtempSync(join(tmpdir(), 'facematch-test-'));
