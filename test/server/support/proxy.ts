import { connect, createServer, type Socket } from 'node:net';

/** A way to the server that may break. */

/** It is not 127.0.0.1: whoever looks for a server of another test, which has just left its port, must not find this. */
const host = '127.0.0.2';

/** Stands before the server on `port`: `meet` may end a connection, otherwise its bytes go through. Counts connections. */
export async function proxy(
  port: number,
  meet: (connection: Socket, count: number) => boolean | Promise<boolean>,
) {
  let connections = 0;
  const sockets = new Set<Socket>();
  const listener = createServer(async (socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    if (await meet(socket, connections)) return;
    const onward = connect(port, '127.0.0.1');
    onward.on('error', () => {});
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => listener.listen(0, host, resolve));
  return {
    url: `http://${host}:${(listener.address() as { port: number }).port}`,
    get connections() {
      return connections;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      listener.close();
    },
  };
}

/** Ends the connection when the head of the request is there, before any answer. */
export function reset(socket: Socket): true {
  socket.once('data', () => socket.resetAndDestroy());
  return true;
}

/** Answers by itself, as a gateway does, when the request has come. */
export function answer(socket: Socket, text: string): true {
  let received = '';
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1');
    // The closing delimiter of the form: two hyphens behind the boundary.
    if (received.endsWith('--\r\n')) socket.end(text);
  });
  return true;
}
