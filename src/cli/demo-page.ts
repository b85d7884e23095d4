import { spawn } from 'node:child_process';
import { hostname, userInfo } from 'node:os';
import { demo } from '../endpoints/documents.ts';
import type { DemoServer } from './demo-server.ts';

/** Programs that open a URL in the default browser. */
const openers: Partial<Record<NodeJS.Platform, string>> = { linux: 'xdg-open', darwin: 'open' };

/**
 * Prints the URL of the demo page and opens it in a browser. The key is in the URL's fragment, which browsers do
 * not send, so it appears in no log. In an SSH session, prints a command for port forwarding instead of
 * opening a browser.
 */
export async function showPage({ origin, key }: Pick<DemoServer, 'origin' | 'key'>): Promise<void> {
  const url = `${origin}${demo.path}#key=${encodeURIComponent(key)}&samples`;
  const { port } = new URL(origin);
  console.log(`Demo page: ${url}`);
  if (process.env.SSH_CONNECTION) {
    const host = `${userInfo().username}@${hostname()}`;
    console.log(
      `From your own computer: ssh -L ${port}:127.0.0.1:${port} ${host}   then open the URL there.`,
    );
  } else if (!(await opens(url))) console.log('No browser could be started. Open the URL yourself.');
  console.log('Press Ctrl-C to stop.');
}

/** Resolves to false if no browser could be started. */
async function opens(url: string): Promise<boolean> {
  const opener = process.env.BROWSER || openers[process.platform];
  if (opener === undefined) return false;
  const child = spawn(opener, [url], { stdio: 'ignore', detached: true });
  child.unref();
  // Some openers run until the browser exits, so an opener that runs for a second counts as successful.
  return await new Promise<boolean>((resolve) => {
    child.once('error', () => resolve(false));
    child.once('exit', (code) => resolve(code === 0));
    setTimeout(resolve, 1000, true).unref();
  });
}
