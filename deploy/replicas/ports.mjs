// Ports that nobody listens on.
import { createServer } from 'node:net';

export async function freePorts(count) {
  const servers = await Promise.all(Array.from({ length: count }, listening));
  // All are held until all are known: none is given twice.
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function listening() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => resolve(server));
  });
}
