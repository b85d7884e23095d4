/** A request's place in a distributed trace. */
interface Trace {
  /** 32 hexadecimal digits. */
  trace_id: string;
  /** `traceparent` as it is given on. */
  traceparent: string;
}

/**
 * Reads a `traceparent` (W3C Trace Context, section 3.2); undefined for an invalid one. Of a later version only what version
 * 00 has is given on, as the specification asks (section 4.3).
 */
export function traceOf(header: string | undefined): Trace | undefined {
  const fields = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(header ?? '');
  if (fields === null) return undefined;
  const [, version, trace_id, parent_id, flags, rest] = fields as unknown as [string, ...string[]];
  if (version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0+$/.test(trace_id!) || /^0+$/.test(parent_id!)) return undefined;
  return { trace_id: trace_id!, traceparent: `00-${trace_id}-${parent_id}-${flags}` };
}
