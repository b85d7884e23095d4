// A server that shows the upper limit of requests per second on µWS. Responds at once, and reads no body.
import { loadUws } from '../../dist/src/http/uws/uws.js';

const uws = loadUws();
uws
  .App()
  .any('/*', (response) => response.end('hello'))
  .listen('127.0.0.1', 0, 0, (socket) => {
    if (!socket) process.exit(1);
    console.log(JSON.stringify({ origin: `http://127.0.0.1:${uws.us_socket_local_port(socket)}` }));
  });
process.on('SIGTERM', () => process.exit(0));
