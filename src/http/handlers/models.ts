import type { MadeHere, PackManifest, Role } from '../../engine/pack.ts';
import type { Context } from '../context.ts';
import type { Reply } from '../exchange.ts';
import { json } from '../responses.ts';

/** GET models: what the answers rest on, so that a client can tell when it changes. */
export function models({ services }: Context): Reply {
  return json(200, modelsBody(services.manifest));
}

export function modelsBody(manifest: PackManifest) {
  const { name, version, description, human, min_det_score, calibration } = manifest;
  const net = (role: Role) => {
    const { file, from, licence, sha256, source_sha256 } = manifest[role];
    const pack = typeof from === 'string' ? name : from.pack;
    return { role, file, pack, licence, sha256, source_sha256 };
  };
  const made = (role: MadeHere) => {
    const { [role]: member } = manifest;
    if (member === undefined) return [];
    const { file, licence, sha256 } = member;
    // Made here: published as it is loaded.
    return [{ role, file, pack: name, licence, sha256, source_sha256: sha256 }];
  };
  return {
    pack: name,
    version,
    description,
    source: sourceBody(manifest.source),
    files: [net('detector'), net('landmarks'), net('embedder'), ...made('cohort'), ...made('human')],
    min_det_score,
    ...(human === undefined ? {} : { human: { bar: human.bar, fitted_on: human.fitted_on } }),
    calibration,
  };
}

function sourceBody(source: PackManifest['source']) {
  const { kind, licence } = source;
  return kind === 'npm'
    ? { kind, name: source.package, version: source.version, licence }
    : { kind, name: source.project, version: source.commit, licence };
}
