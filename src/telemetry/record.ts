import type { Decision, ImageCounts } from '../endpoints/endpoint.ts';

/** All that is kept of a request. Never an image, an embedding, a key or a path. */
export interface RequestRecord {
  request_id: string;
  /** The trace of the client's traceparent. */
  trace_id: string | undefined;
  /** The client's address; only with FACEMATCH_LOG_CLIENT=on, and only for the log. */
  client: string | undefined;
  /** The id part of the key; it is public and opens nothing. */
  key_id: string | undefined;
  route: string;
  status: number;
  /** Error code; undefined for a 200 answer. */
  code: string | undefined;
  field: string | undefined;
  /** Why an image was refused, in more words than the client gets. */
  reason: string | undefined;
  bytes: number;
  duration_ms: number;
  timings_ms: Readonly<Record<string, number>>;
  /** A fault of the server; goes to the log and nowhere else. */
  fault: string | undefined;
  tally: Tally;
}

/** What the metrics and the audit log have of a request, and no log line: in one it would describe one person. */
export interface Tally {
  /** The name of a key that was admitted. */
  key_name: string | undefined;
  /** How many images were analysed. */
  images: number;
  counts: readonly ImageCounts[];
  decisions: readonly Decision[];
}
