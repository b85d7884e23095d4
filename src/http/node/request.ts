import type { IncomingMessage } from 'node:http';
import { framingOf, HeaderFields, type Request } from '../request.ts';

/** A request's head as node:http read it. */
export function readRequest({ method, url, rawHeaders, httpVersionMinor, socket }: IncomingMessage): Request {
  const fields = new HeaderFields();
  for (let at = 0; at < rawHeaders.length; at += 2) {
    fields.add(rawHeaders[at]!.toLowerCase(), rawHeaders[at + 1]!);
  }
  return requestOf(method!, url!, fields, httpVersionMinor, socket.remoteAddress);
}

/**
 * The head of a request that node:http does not read because its body could end in two places. `packet`: the bytes in which that
 * was seen, up to `seen` and beyond. Undefined when the head did not come in one packet.
 */
export function readUnclear(packet: Buffer, seen: number, peer: string | undefined): Request | undefined {
  const text = packet.toString('latin1');
  const start = text.lastIndexOf('\r\n\r\n', seen - 1);
  const [first = '', ...lines] = text
    .slice(start < 0 ? 0 : start + 4)
    .split('\r\n\r\n', 1)[0]!
    .split('\r\n');
  const [, method, target, minor] = /^([A-Z]+) (\/\S*) HTTP\/1\.([01])$/.exec(first) ?? [];
  if (method === undefined) return undefined;
  const fields = new HeaderFields();
  for (const line of lines) {
    const [, name, value] = /^([^\s:]+):[\t ]*(.*?)[\t ]*$/.exec(line) ?? [];
    if (name !== undefined) fields.add(name.toLowerCase(), value!);
  }
  return { ...requestOf(method, target!, fields, Number(minor), peer), ...unclear };
}

const unclear = { framing: 'unclear', content_length: undefined } as const;

function requestOf(
  method: string,
  target: string,
  { headers, typed_twice }: HeaderFields,
  minor: number,
  peer: string | undefined,
): Request {
  const query = target.indexOf('?');
  // HTTP/1.0 knows no transfer coding (RFC 9112 section 6.1).
  const framing = minor === 0 && headers.has('transfer-encoding') ? 'unclear' : framingOf(headers);
  return {
    method,
    path: query < 0 ? target : target.slice(0, query),
    query: query < 0 ? '' : target.slice(query + 1),
    headers,
    typed_twice,
    framing,
    content_length: framing === 'length' ? Number(headers.get('content-length')) : undefined,
    closes: headers.get('connection')?.toLowerCase() === 'close',
    peer: peer ?? '',
  };
}
