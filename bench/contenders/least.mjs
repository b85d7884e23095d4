// The least that a main thread on µWS can do:
//   node bench/contenders/least.mjs hello
//   node bench/contenders/least.mjs receiver ANSWER_BYTES THREADS
// `hello` answers at once: the upper limit of requests a second for any server on µWS. `receiver` takes the body and answers as
// many bytes as facematch does. Beside it, threads go through memory as workers with nets do, so that the caches are as cold as a
// server's.
import { isMainThread, Worker } from 'node:worker_threads';
import { loadUws } from '../../dist/src/http/uws/uws.js';

const [kind, answer_bytes, threads] = process.argv.slice(2);

const handlers = {
  hello: () => (response) => response.end('hello'),
  receiver() {
    const answer = Buffer.alloc(Number(answer_bytes), 'x');
    for (let count = 0; count < Number(threads); count++) new Worker(new URL(import.meta.url));
    return (response) => {
      response.onAborted(() => {});
      response.onData((_, last) => {
        if (last) response.cork(() => response.end(answer));
      });
    };
  },
};

if (isMainThread) {
  const uws = loadUws();
  uws
    .App()
    .any('/*', handlers[kind]())
    .listen('127.0.0.1', 0, 0, (socket) => {
      if (!socket) process.exit(1);
      console.log(JSON.stringify({ address: `http://127.0.0.1:${uws.us_socket_local_port(socket)}` }));
    });
  process.on('SIGTERM', () => process.exit(0));
} else {
  const numbers = new Float32Array(4 * 1024 * 1024).fill(1);
  for (;;) for (let at = 0; at < numbers.length; at++) numbers[at] = numbers[at] * 0.999 + 0.001;
}
