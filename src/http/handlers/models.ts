import type { PackManifest, PackNet } from '../../engine/pack.ts';
import type { Context } from '../context.ts';
import type { Reply } from '../exchange.ts';
import { json } from '../responses.ts';

/** GET models: what the answers rest on, so that a client can tell when it changes. */
export function models({ services }: Context): Reply {
  return json(200, modelsBody(services.manifest));
}

export function modelsBody(manifest: PackManifest) {
  const { name, version, description, source, cohort, min_det_score, calibration } = manifest;
  const file = (role: string, net: Pick<PackNet, 'file' | 'licence' | 'sha256' | 'source_sha256'>) => ({
    role,
    file: net.file,
    licence: net.licence,
    sha256: net.sha256,
    source_sha256: net.source_sha256,
  });
  return {
    pack: name,
    version,
    description,
    source: { package: source.package, version: source.version, licence: source.licence },
    files: [
      file('detector', manifest.detector),
      file('landmarks', manifest.landmarks),
      file('embedder', manifest.embedder),
      // Made here: published as it is loaded.
      ...(cohort ? [file('cohort', { ...cohort, source_sha256: cohort.sha256 })] : []),
    ],
    min_det_score,
    calibration,
  };
}
