// One connection from its first byte to its end, by a plan.
import { connect } from 'node:net';
import { parseAnswers } from '../../test/support/load.mjs';

/**
 * Resolves to { answers, left, closed, hung }: `left` when the client disconnected by plan, `closed` when the server closed the
 * connection, `hung` when neither that nor an answer happened within `bound_ms`.
 */
export function converse(port, plan, bound_ms) {
  return new Promise((resolve) => {
    const { bytes, cuts, leaves, leavesAt, patience_ms, resets, answers: wanted } = plan;
    const isHead = bytes.subarray(0, 5).toString('latin1') === 'HEAD ';
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const received = [];
    let over = false;
    const finish = (how) => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      if (how !== 'closed' && resets) socket.resetAndDestroy();
      else socket.destroy();
      const whole = parseAnswers(Buffer.concat(received), isHead);
      resolve({ answers: whole, left: how === 'left', closed: how === 'closed', hung: how === 'hung' });
    };
    const timer = setTimeout(
      () => finish(patience_ms === undefined ? 'hung' : 'left'),
      patience_ms ?? bound_ms,
    );
    socket.on('error', () => {});
    socket.on('close', () => finish('closed'));
    socket.on('data', (data) => {
      received.push(data);
      if (leaves === 'answering') return finish('left');
      if (parseAnswers(Buffer.concat(received), isHead).length >= wanted) finish('answered');
    });
    const end = leaves === 'sending' ? leavesAt : bytes.length;
    const stops = [...cuts.filter((at) => at < end), end];
    const send = (from, index) => {
      if (over) return;
      const to = stops[index];
      const next = () => {
        if (index + 1 < stops.length) setImmediate(send, to, index + 1);
        else if (leaves === 'sending' || leaves === 'waiting') finish('left');
      };
      if (to > from) socket.write(bytes.subarray(from, to), next);
      else next();
    };
    socket.on('connect', () => send(0, 0));
  });
}
