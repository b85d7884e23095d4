import type { Analysis, OnnxRuntime } from '../engine/addon.ts';
import { mostJson_bytes } from '../engine/embeddings.ts';
import {
  type MadeHere,
  madeHere,
  type PackDraft,
  type PackNet,
  packNets,
  type Role,
} from '../engine/pack.ts';
import type { Outcome } from '../engine/pool.ts';
import { Problem } from '../errors.ts';
import { compare, faultsOf, type ImageFault } from '../matching/compare.ts';
import { type LowQualityFace, lowQualityProblem } from '../matching/face-quality.ts';
import { problemOf } from '../matching/faults.ts';
import type { Decision, MatchCounts } from '../telemetry/record.ts';
import type { Context } from './context.ts';
import { ClientLeft, type Reply } from './exchange.ts';
import { detectBody, embedBody } from './faces-result.ts';
import { type Analysed, judgeHead, receiveBody, unclearEnd, withImages } from './intake.ts';
import {
  embeddingsBody,
  embeddingsDecision,
  type ManyBody,
  manyBody,
  manyCounts,
  manyDecisions,
} from './many-result.ts';
import {
  facelessCounts,
  imageCounts,
  type MatchBody,
  matchBody,
  matchCounts,
  matchDecision,
} from './match-result.ts';
import { json, serverTiming } from './responses.ts';

/** The handlers of all endpoints but the documents. */

/** Both match endpoints. */
export function match(context: Context, endpoint: 'match' | 'match_advanced'): Promise<Reply> {
  return withImages(context, endpoint, (analysed) => {
    const result = compare(analysed.outcomes as [Outcome, Outcome], analysed.form.values);
    if (Array.isArray(result)) throw refusalOf(context, result);
    const body = matchBody({ ...matchReportOf(context, analysed), result });
    return verdictReply(context, analysed, body, matchCounts(body), [matchDecision(body)]);
  });
}

/** One image against several. A fault of image1 refuses the request; a fault of a target is reported in its result. */
export function matchMany(context: Context): Promise<Reply> {
  return withImages(context, 'match_many', (analysed) => {
    const { form, outcomes } = analysed;
    const faults = faultsOf('image1', outcomes[0]!, form.values.image1_face_index);
    if (faults.length > 0) throw refusalOf(context, faults);
    const reference = outcomes[0] as Analysis;
    const body = manyBody({ ...matchReportOf(context, analysed), reference, outcomes });
    return verdictReply(context, analysed, body, manyCounts(body), manyDecisions(body));
  });
}

/** Faces of one image. No face is an empty list. */
export function detect(context: Context): Promise<Reply> {
  return withImages(context, 'detect', (analysed) => {
    const [fault] = faultsOf('image', analysed.outcomes[0]!, -1);
    if (fault && fault.code !== 'no_face_found') throw problemOf([fault]);
    return facesReply(context, detectBody(facesReportOf(context, analysed)));
  });
}

/** The same with embeddings. No face is a refusal. */
export function embed(context: Context): Promise<Reply> {
  return withImages(context, 'embed', (analysed) => {
    const { values } = analysed.form;
    const faults = faultsOf('image', analysed.outcomes[0]!, values.face_index);
    if (faults.length > 0) throw refusalOf(context, faults);
    const body = embedBody(facesReportOf(context, analysed));
    if (values.reject_low_quality) refuseLowQuality(body.warnings);
    return facesReply(context, body);
  });
}

/** Counts the images without a face. */
function refusalOf(context: Context, faults: readonly ImageFault[]): Problem {
  context.counts = facelessCounts(faults);
  return problemOf(faults);
}

function reportOf({ request_id, services }: Context, { form, queue_ms, elapsed_ms }: Analysed) {
  return { request_id, form, model: services.model, queue_ms, total_ms: elapsed_ms() };
}

function matchReportOf(context: Context, analysed: Analysed) {
  const calibration = context.services.calibrations[analysed.form.values.accuracy_mode];
  return { ...reportOf(context, analysed), calibration };
}

/** Only for an image that was analysed. */
function facesReportOf(context: Context, analysed: Analysed) {
  const { dimensions } = context.services.manifest.embedder;
  return { ...reportOf(context, analysed), analysis: analysed.outcomes[0] as Analysis, dimensions };
}

function verdictReply(
  context: Context,
  { form }: Analysed,
  body: MatchBody | ManyBody,
  counts: MatchCounts,
  decisions: readonly Decision[],
): Reply {
  context.timings_ms = body.timings_ms;
  // The client gets no verdict when it is refused below, so none is counted then.
  context.counts = { ...counts, verdicts: [] };
  if (form.values.reject_low_quality) refuseLowQuality(body.warnings);
  context.counts = counts;
  context.decisions = decisions;
  return answered(context, body);
}

function facesReply(context: Context, body: ReturnType<typeof detectBody | typeof embedBody>): Reply {
  context.counts = { verdicts: [], images: [imageCounts(body.image)] };
  return answered(context, body);
}

function answered(context: Context, body: { timings_ms: Readonly<Record<string, number>> }): Reply {
  context.timings_ms = body.timings_ms;
  return json(200, body, [serverTiming(body.timings_ms)]);
}

/** For reject_low_quality: throws the problem that stands for these warnings. */
function refuseLowQuality(warnings: readonly ({ code: string } | LowQualityFace)[]): void {
  const refusal = lowQualityProblem(
    warnings.filter((warning): warning is LowQualityFace => warning.code === 'low_quality_face'),
  );
  if (refusal) throw refusal;
}

const malformedJson = new Problem('invalid_json', { detail: unclearEnd, position: 0 });

/** One embedding against many. A worker parses the body and compares; the verdicts are made here. */
export function matchEmbeddings(context: Context): Promise<Reply> {
  const limit = Math.min(mostJson_bytes, context.services.config.max_body_bytes);
  judgeHead(context, limit, malformedJson, requireJson);
  return rank(context, limit, receiveBody(context, limit));
}

function requireJson(contentType: string): void {
  if (/^application\/json\s*(?:;|$)/i.test(contentType.trim())) return;
  throw new Problem('unsupported_media_type', { detail: 'Send the body as application/json.' });
}

async function rank(context: Context, limit_bytes: number, uploaded: Promise<Buffer>): Promise<Reply> {
  const { engine, manifest, model, calibrations } = context.services;
  const body = await uploaded;
  const arrived = performance.now();
  // A body that was held while a shared limiter was asked had the larger limit of a form.
  if (body.length > limit_bytes) throw new Problem('body_too_large', { limit_bytes });
  if (!context.exchange.open) throw new ClientLeft();
  const ticket = engine.rank({ body, ...model, dimensions: manifest.embedder.dimensions });
  context.idle = ticket.idle;
  context.exchange.onLeft(() => ticket.cancel(new ClientLeft()));
  const { outcomes, queue_ms } = await ticket.done;
  const outcome = outcomes[0]!;
  if (!outcome.ok) throw new Problem(outcome.code, outcome.extras);
  const found = embeddingsBody({
    request_id: context.request_id,
    ranked: outcome,
    calibration: calibrations[outcome.values.accuracy_mode],
    model,
    queue_ms,
    total_ms: performance.now() - arrived,
  });
  context.decisions = [embeddingsDecision(found, outcome.candidates.length)];
  return answered(context, found);
}

/** GET models: the loaded pack, so that a client can tell when it changes. */
export function models({ services }: Context): Reply {
  return json(200, modelsBody(services.manifest, services.engine.onnxRuntime));
}

export function modelsBody(manifest: PackDraft, runtime: OnnxRuntime) {
  const { name, version, description, human, min_det_score, calibration } = manifest;
  const net = ([role, { file, from, licence, sha256, source_sha256 }]: [Role, PackNet]) => {
    const pack = typeof from === 'string' ? name : from.pack;
    return { role, file, pack, licence, sha256, source_sha256 };
  };
  const made = (role: MadeHere) => {
    const { [role]: member } = manifest;
    if (member === undefined) return [];
    const { file, licence, sha256 } = member;
    // Made by facematch itself, so it is loaded as it was published.
    return [{ role, file, pack: name, licence, sha256, source_sha256: sha256 }];
  };
  return {
    pack: name,
    version,
    description,
    source: sourceBody(manifest.source),
    runtime: { onnxruntime: runtime.version, providers: runtime.providers },
    files: [...[...packNets(manifest)].map(net), ...madeHere.flatMap(made)],
    min_det_score,
    ...(human === undefined ? {} : { human: { bar: human.bar, fitted_on: human.fitted_on } }),
    ...(calibration === undefined ? {} : { calibration }),
  };
}

function sourceBody(source: PackDraft['source']) {
  const { kind, licence } = source;
  return kind === 'npm'
    ? { kind, name: source.package, version: source.version, licence }
    : { kind, name: source.project, version: source.commit, licence };
}
