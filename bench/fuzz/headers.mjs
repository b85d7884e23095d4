// Generates request headers: a valid set, and invalid or unusual variants.
import { boundary, content_type } from '../../test/support/load.mjs';

const base = '/API/v1.0';
export const match = `${base}/face/match/upload`;
export const advanced = `${match}/advanced`;
export const many = `${match}/many`;
export const detect = `${base}/face/detect/upload`;
export const embed = `${base}/face/embed/upload`;
export const embeddings = `${base}/face/match/embeddings`;

/** Returns a request line and headers. `headers` adds or replaces headers; the value undefined removes one. */
export function requestHeaders(world, headers = {}, requestLine = `POST ${match} HTTP/1.1`) {
  const all = { host: 'fuzz', 'x-api-key': world.key, 'content-type': content_type, ...headers };
  const lines = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  return Buffer.from([requestLine, ...lines, '', ''].join('\r\n'), 'latin1');
}

export function withLength(world, body, headers = {}, requestLine = undefined) {
  return Buffer.concat([
    requestHeaders(world, { ...headers, 'content-length': body.length }, requestLine),
    body,
  ]);
}

/** Returns a request with a chunked body (RFC 9112, section 7.1), in chunks of random sizes. */
export function inChunks(world, body, random, requestLine = undefined, headers = {}) {
  const pieces = [requestHeaders(world, { ...headers, 'transfer-encoding': 'chunked' }, requestLine)];
  for (let at = 0; at < body.length; ) {
    const piece = body.subarray(at, at + 1 + random.below(Math.max(1000, body.length / 3)));
    pieces.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
    at += piece.length;
  }
  return Buffer.concat([...pieces, Buffer.from('0\r\n\r\n')]);
}

/** Missing, wrong or unusual headers. A server and a proxy in front of it might parse some of them differently. */
// biome-ignore format: a table
export const oddHeaders = [
  { 'x-api-key': undefined }, { 'x-api-key': '' }, { 'x-api-key': 'fm_x_y' }, { 'x-api-key': 'k'.repeat(2000) }, { 'x-api-key': '\xff\xfe' },
  { 'content-type': undefined }, { 'content-type': '' }, { 'content-type': 'multipart/form-data' }, { 'content-type': 'application/json' },
  { 'content-type': 'multipart/form-data; boundary=' }, { 'content-type': 'multipart/form-data; boundary=""' },
  { 'content-type': `multipart/form-data; boundary="${boundary}"` }, { 'content-type': `multipart/form-data; boundary=${'b'.repeat(71)}` },
  { 'content-type': `MULTIPART/FORM-DATA; BOUNDARY=${boundary}` }, { 'content-type': `multipart/form-data; boundary=a; boundary=${boundary}` },
  { 'content-type': `multipart/form-data; boundary="${boundary}` }, { 'content-type': `multipart/form-data; charset=x;;; boundary=${boundary}` },
  { 'content-encoding': 'gzip' }, { 'content-encoding': 'identity' }, { expect: '100-continue' }, { expect: 'the unexpected' },
  { connection: 'close' }, { connection: 'upgrade', upgrade: 'websocket', 'sec-websocket-key': 'x', 'sec-websocket-version': '13' },
  { 'x-request-id': 'a b' }, { 'x-request-id': 'x'.repeat(129) }, { 'x-request-id': '"\\' }, { 'x-forwarded-for': '1.2.3.4, ::1, x' },
  { host: undefined }, { host: '' }, { origin: 'null' }, { 'x-empty': '' }, { 'x-nul': 'a\0b' }, { 'x-obs': '\x80\xff' }, { 'x-tab': '\ta\t' },
  { 'x-long': 'x'.repeat(3000) }, { 'x-longer': 'x'.repeat(9000) }, { 'bad name': 'x' }, { '': 'x' }, { 'x-fold': 'a\r\n b' }, { 'x-lf': 'a\nb: c' },
  Object.fromEntries(Array.from({ length: 45 }, (_item, index) => [`x-${index}`, 'y'])),
  Object.fromEntries(Array.from({ length: 120 }, (_item, index) => [`x-${index}`, 'y'])),
];

/** µWS closes some of these connections without a response (docs/research/uws.md). */
// biome-ignore format: a table
export const oddRequestLines = [
  `GET ${base}/models HTTP/1.1`, `HEAD ${base}/models HTTP/1.1`, `GET ${base}/openapi.json HTTP/1.1`, `GET ${base}/docs HTTP/1.1`,
  `OPTIONS ${match} HTTP/1.1`, `OPTIONS * HTTP/1.1`, `DELETE ${match} HTTP/1.1`, `PUT ${match} HTTP/1.1`, `PATCH ${advanced} HTTP/1.1`,
  `BREW ${match} HTTP/1.1`, `post ${match} HTTP/1.1`, `POST ${match} HTTP/1.0`, `POST ${match} HTTP/2.0`, `POST ${match} HTTP/9.9`, `POST ${match}`,
  `POST http://fuzz${match} HTTP/1.1`, `POST ${match}/ HTTP/1.1`, `POST ${match.toLowerCase()} HTTP/1.1`, `POST ${match}?a=b&c=%00 HTTP/1.1`,
  `POST ${base}/../${base}/face HTTP/1.1`, `POST /%2e%2e/%2e%2e/etc/passwd HTTP/1.1`, `POST //x HTTP/1.1`, `POST /${'a'.repeat(3000)} HTTP/1.1`,
  `POST /${'a'.repeat(20000)} HTTP/1.1`, `POST /\xff\xfe HTTP/1.1`, `GET / HTTP/1.1`, `GET /metrics HTTP/1.1`, `GET /healthz HTTP/1.1`,
  'PRI * HTTP/2.0', `CONNECT fuzz:80 HTTP/1.1`, `TRACE ${match} HTTP/1.1`, `GET /__proto__ HTTP/1.1`, ` POST ${match} HTTP/1.1`, `POST  ${match} HTTP/1.1`,
];

/** Wrong or unusual framing headers of a body with the true size `length`. */
// biome-ignore format: a table
export const lyingLengths = [
  (length) => ({ 'content-length': length + 1 }), (length) => ({ 'content-length': length + 5000 }), (length) => ({ 'content-length': length - 1 }),
  (length) => ({ 'content-length': Math.floor(length / 2) }), () => ({ 'content-length': 0 }), () => ({ 'content-length': 1 }),
  () => ({ 'content-length': 20 * 1024 * 1024 }), () => ({ 'content-length': 20 * 1024 * 1024 + 1 }), () => ({ 'content-length': 999_999_999 }),
  () => ({ 'content-length': '99999999999999999999' }), () => ({ 'content-length': '-1' }), (length) => ({ 'content-length': `+${length}` }),
  () => ({ 'content-length': '0x10' }), () => ({ 'content-length': '' }), (length) => ({ 'content-length': `${length} ${length}` }),
  (length) => ({ 'content-length': length, 'Content-Length': length + 1 }), (length) => ({ 'content-length': `${length},${length}` }),
  (length) => ({ 'content-length': length, 'transfer-encoding': 'chunked' }), () => ({ 'transfer-encoding': 'gzip, chunked' }),
  () => ({ 'transfer-encoding': 'chunked, chunked' }), () => ({ 'transfer-encoding': 'identity' }), () => ({ 'transfer-encoding': '\x0bchunked' }),
  () => ({ 'transfer-encoding': 'chunked' }), () => ({}),
];

/** Bodies for `Transfer-Encoding: chunked`, most of them invalid. */
// biome-ignore format: a table
export const oddChunks = [
  '0\r\n\r\n', '5\r\nhello\r\n0\r\n\r\n', '5;ext=1\r\nhello\r\n0\r\n\r\n', '5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n', '5\nhello\n0\n\n', 'g\r\n', '-1\r\nx\r\n',
  'ffffffffffffffff\r\nx', 'fffffff\r\nx', '00000000000000000000005\r\nhello\r\n0\r\n\r\n', '5\r\nhelloworld\r\n0\r\n\r\n', '5\r\nhel', '\r\n', ' 5\r\nhello\r\n0\r\n\r\n',
  '0x5\r\nhello\r\n0\r\n\r\n', '5 \r\nhello\r\n0\r\n\r\n', `5;${'x'.repeat(20000)}\r\nhello\r\n0\r\n\r\n`, '+5\r\nhello\r\n0\r\n\r\n', '5\r\nhello0\r\n\r\n', '',
];

/** The first bytes of other protocols, or of an incomplete request. */
// biome-ignore format: a table
export const otherProtocols = [
  Buffer.from('160301020001000001fc0303', 'hex'), Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), Buffer.from('EHLO fuzz\r\n'), Buffer.from('\r\n\r\n\r\n'),
  Buffer.from('\0\0\0\0'), Buffer.from('GET'), Buffer.from('SSH-2.0-x\r\n'), Buffer.from('*1\r\n$4\r\nPING\r\n'),
];
