import type { KeyRecord } from '../auth/key-file.ts';
import { createKey, keyHash, type Scope, statusOf } from '../auth/keys.ts';

/** What the command line does to the keys of a key file: each function gives the new list, and the record that it changed or made. */

/** What the operator chooses for a key. */
export interface KeySettings {
  name: string;
  scopes: readonly Scope[];
  rate: number;
  burst: number;
  concurrent?: number;
  expires_in_ms?: number;
  note?: string;
}

/** `key` is the only copy: the record holds its hash. */
export function create(records: readonly KeyRecord[], settings: KeySettings, now_ms: number) {
  const { id, key } = createKey();
  const { name, rate, burst, concurrent, expires_in_ms, note } = settings;
  const record: KeyRecord = {
    id,
    name,
    sha256: keyHash(key),
    scopes: [...settings.scopes],
    rate,
    burst,
    ...(concurrent === undefined ? {} : { concurrent }),
    created_at: iso(now_ms),
    ...(expires_in_ms === undefined ? {} : { expires_at: iso(now_ms + expires_in_ms) }),
    ...(note === undefined ? {} : { note }),
  };
  return { records: [...records, record], record, key };
}

/** Revoking twice is not an error and keeps the first time. Throws an Error for an unknown key. */
export function revoke(records: readonly KeyRecord[], idOrName: string, now_ms: number) {
  const record = find(records, idOrName, now_ms);
  return statusOf(record, now_ms) === 'revoked'
    ? { records: [...records], record }
    : end(records, record, now_ms);
}

/**
 * A new key with the settings of an old one, which is revoked `grace_ms` from now. A key that expires gets its full lifetime
 * again, from now. Throws an Error for an unknown key or one that is not active.
 */
export function rotate(records: readonly KeyRecord[], idOrName: string, now_ms: number, grace_ms: number) {
  const old = find(records, idOrName, now_ms);
  const status = statusOf(old, now_ms);
  if (status !== 'active') {
    throw new Error(
      `The key ${old.id} is ${status} and cannot be rotated. Make a new one: npx facematch keys create --name NAME`,
    );
  }
  const { created_at, expires_at, ...settings } = old;
  const lifetime =
    expires_at === undefined ? {} : { expires_in_ms: Date.parse(expires_at) - Date.parse(created_at) };
  const { records: ended, record: retired } = end(records, old, now_ms + grace_ms);
  return { ...create(ended, { ...settings, ...lifetime }, now_ms), retired };
}

/** By its id, or by its name where no other key that still works has it. Throws an Error. */
function find(records: readonly KeyRecord[], idOrName: string, now_ms: number): KeyRecord {
  const byId = records.find(({ id }) => id === idOrName);
  if (byId !== undefined) return byId;
  const named = records.filter(({ name }) => name === idOrName);
  const working = named.filter((record) => statusOf(record, now_ms) !== 'revoked');
  const [record, other] = working.length > 0 ? working : named;
  if (record === undefined) {
    throw new Error(`There is no key with the id or name ${idOrName}. See them all: npx facematch keys list`);
  }
  if (other === undefined) return record;
  const ids = working.map(({ id }) => id).join(', ');
  throw new Error(`Several keys are named ${idOrName}: ${ids}. Give the id of one.`);
}

function end(records: readonly KeyRecord[], record: KeyRecord, at_ms: number) {
  const ended: KeyRecord = { ...record, revoked_at: iso(at_ms) };
  return { records: records.map((other) => (other === record ? ended : other)), record: ended };
}

function iso(at_ms: number): string {
  return new Date(at_ms).toISOString();
}
