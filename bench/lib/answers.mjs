// HTTP/1.1 answers out of the bytes of a connection.

const header = (head, name) => new RegExp(`\\r\\n${name}: *([^\\r]*)`, 'i').exec(head)?.[1];

/**
 * As far as they are whole: { status, request_id, closes, json, body, end }, where `end` is the byte behind. Interim answers
 * are left out. Those to HEAD have no body, whatever they declare.
 */
export function parseAnswers(bytes, isHead = false) {
  const answers = [];
  for (let at = 0; ; ) {
    const headEnd = bytes.indexOf('\r\n\r\n', at);
    if (headEnd === -1) return answers;
    const head = bytes.toString('latin1', at, headEnd);
    const status = Number(head.slice(9, 12));
    const bodiless = isHead || status < 200 || status === 204;
    const end = headEnd + 4 + (bodiless ? 0 : Number(header(head, 'content-length') ?? 0));
    if (end > bytes.length) return answers;
    if (status >= 200) {
      answers.push({
        status,
        request_id: header(head, 'x-request-id'),
        closes: header(head, 'connection') === 'close',
        json: /^application\/(problem\+)?json/.test(header(head, 'content-type') ?? ''),
        body: bytes.subarray(headEnd + 4, end),
        end,
      });
    }
    at = end;
  }
}
