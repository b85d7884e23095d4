import type { PackManifest, Role } from '../../engine/pack.ts';
import type { Context } from '../context.ts';
import type { Reply } from '../exchange.ts';
import { json } from '../responses.ts';

/** GET models: what the answers rest on, so that a client can tell when it changes. */
export function models({ services }: Context): Reply {
  return json(200, modelsBody(services.manifest));
}

export function modelsBody(manifest: PackManifest) {
  const { name, version, description, cohort, min_det_score, calibration } = manifest;
  const net = (role: Role) => {
    const { file, from, licence, sha256, source_sha256 } = manifest[role];
    const pack = typeof from === 'string' ? name : from.pack;
    return { role: role as Role | 'cohort', file, pack, licence, sha256, source_sha256 };
  };
  const files = [net('detector'), net('landmarks'), net('embedder')];
  if (cohort) {
    const { file, licence, sha256 } = cohort;
    // Made here: published as it is loaded.
    files.push({ role: 'cohort', file, pack: name, licence, sha256, source_sha256: sha256 });
  }
  return {
    pack: name,
    version,
    description,
    source: sourceBody(manifest.source),
    files,
    min_det_score,
    calibration,
  };
}

function sourceBody(source: PackManifest['source']) {
  const { kind, licence } = source;
  return kind === 'npm'
    ? { kind, name: source.package, version: source.version, licence }
    : { kind, name: source.project, version: source.commit, licence };
}
