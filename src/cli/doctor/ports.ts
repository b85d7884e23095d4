import { get } from 'node:http';
import { get as getByTls } from 'node:https';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { surveySettings } from '../../config.ts';
import { type Finding, ok, warning, wrong } from './finding.ts';

interface Place {
  what: string;
  host: string;
  port: number;
  tls: boolean;
  /** The settings that choose another one. */
  variables: { host: string; port: string };
}

const answerLimit_ms = 2_000;

/** Whether a server could listen where it is told to. */
export async function ports(): Promise<Finding[]> {
  const { host, port, admin_host, admin_port, tls_cert } = surveySettings().config;
  const front: Place = {
    what: 'port',
    host,
    port,
    tls: tls_cert !== '',
    variables: { host: 'FACEMATCH_HOST', port: 'FACEMATCH_PORT' },
  };
  const admin: Place = {
    what: 'admin port',
    host: admin_host,
    port: admin_port,
    tls: false,
    variables: { host: 'FACEMATCH_ADMIN_HOST', port: 'FACEMATCH_ADMIN_PORT' },
  };
  if (port !== 0 && port === admin_port && overlap(host, admin_host)) {
    const value = `${admin_host}:${admin_port} is the service's own`;
    return [await look(front), wrong(admin.what, value, 'Set FACEMATCH_ADMIN_PORT to another one')];
  }
  return Promise.all([look(front), look(admin)]);
}

async function look({ what, host, port, tls, variables }: Place): Promise<Finding> {
  const place = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const code = await listenError(host, port);
  if (code === undefined) return ok(what, port === 0 ? `${host}, any free one` : `${place} is free`);
  if (code !== 'EADDRINUSE') {
    const { value, cure } = refusals[code] ?? {
      value: `cannot be listened on (${code})`,
      cure: () => `Set ${variables.host} and ${variables.port}`,
    };
    return wrong(what, `${place} ${value}`, cure(variables));
  }
  const free = `Stop it, or set ${variables.port}`;
  if (await isFacematch(host, port, tls))
    return warning(what, `${place} is taken by a facematch that runs`, free);
  return wrong(
    what,
    `${place} is taken by another program`,
    `${free}; who it is: ss -ltnp 'sport = :${port}'`,
  );
}

interface Refusal {
  /** Said of the place. */
  value: string;
  cure(variables: Place['variables']): string;
}

const noAddress: Refusal = {
  value: 'is no address',
  cure: ({ host }) => `Set ${host} to an address, such as 127.0.0.1`,
};

/** By the code of the error that listening fails with. */
const refusals: Readonly<Record<string, Refusal>> = {
  EACCES: { value: 'needs more rights', cure: ({ port }) => `Set ${port} to 1024 or more` },
  EADDRNOTAVAIL: {
    value: "is not one of this machine's addresses",
    cure: ({ host }) => `Set ${host} to one of them, or to 0.0.0.0`,
  },
  EAI_AGAIN: noAddress,
  ENOTFOUND: noAddress,
};

/** The error's code, or undefined when listening works; nothing is left open. */
function listenError(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** The service answers with problems of its own type whatever it is asked, the admin listener tells its stage. */
async function isFacematch(host: string, port: number, tls: boolean): Promise<boolean> {
  try {
    const { status, type } = JSON.parse(await answerOf(wildcards[host] ?? host, port, tls)) as {
      status?: unknown;
      type?: unknown;
    };
    return (
      (typeof type === 'string' && type.startsWith('/API/v1.0/docs#error-')) ||
      (typeof status === 'string' && ['starting', 'ready', 'draining'].includes(status))
    );
  } catch {
    return false;
  }
}

/** Not by fetch: a server that closes at once leaves it (undici 6) waiting with nothing that keeps the process alive. */
function answerOf(host: string, port: number, tls: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(answerLimit_ms);
    // Who it is, not whether to trust it: nothing but a question is sent.
    const options = { host, port, path: '/readyz', agent: false, signal, rejectUnauthorized: false } as const;
    const ask = tls ? getByTls : get;
    ask(options, (response) => {
      text(response).then(resolve, reject);
    }).on('error', reject);
  });
}

const wildcards: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

function overlap(one: string, other: string): boolean {
  return one === other || one in wildcards || other in wildcards;
}
