import { isIPv4, isIPv6 } from 'node:net';

/** Stands for a peer that is no IP address, such as a Unix socket: all of those share one bucket. */
export const unknownAddress = 'unknown';

/** The longest text of an IP address: an IPv4-mapped IPv6 one, brackets, a port and a zone included. */
const longestEntry = 80;

/**
 * The first six groups of IPv6 addresses that carry an IPv4 address in the last two, which is then the caller:
 * IPv4-mapped (RFC 4291, section 2.5.5.2) and the well-known prefix of translators (RFC 6052, section 2.1).
 */
const ipv4Prefixes = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'];

/**
 * The address that a request is charged to: IPv4 as it is, IPv6 as its /64, since one subscriber holds at least that
 * many addresses (RFC 6177) and could otherwise use a fresh one for every guess.
 *
 * Each proxy appends the address that it was called from to X-Forwarded-For. The entries of the last `trustedHops`
 * proxies are therefore true, and all to the left of them is whatever the client wrote. With 0 hops the header is
 * ignored. The walk goes right to left and stops at the first entry that is no address: the last good one counts.
 *
 * @param peer the socket's remote address as text
 * @param forwardedFor every X-Forwarded-For line of the request in order, joined by commas (RFC 9110, section 5.3)
 */
export function clientAddress(peer: string, forwardedFor: string | undefined, trustedHops: number): string {
  let address = normalise(peer) ?? unknownAddress;
  if (forwardedFor === undefined) return address;
  let end = forwardedFor.length;
  for (let hop = 0; hop < trustedHops && end >= 0; hop++) {
    const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(',', end - 1);
    const entry = normalise(forwardedFor.slice(comma + 1, end));
    if (entry === undefined) break;
    address = entry;
    end = comma;
  }
  return address;
}

function normalise(text: string): string | undefined {
  // What nearly every peer is.
  if (isIPv4(text)) return text;
  if (text.length > longestEntry) return undefined;
  const host = withoutPort(text.trim());
  if (isIPv4(host)) return host;
  return isIPv6(host) ? ipv6Network(host) : undefined;
}

/** Some proxies write `192.0.2.1:4711` or `[2001:db8::1]:4711`, some add quotes as in RFC 7239, section 6. */
function withoutPort(text: string): string {
  const bare = text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  const match = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(bare) ?? /^([\d.]+):\d{1,5}$/.exec(bare);
  return match?.[1] ?? bare;
}

function ipv6Network(address: string): string {
  const groups = ipv6Groups(address);
  if (ipv4Prefixes.includes(groups.slice(0, 6).map(hex).join(':'))) {
    const [high = 0, low = 0] = groups.slice(6);
    return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`;
  }
  return `${groups.slice(0, 4).map(hex).join(':')}::/64`;
}

/** The eight groups of an address that `isIPv6` has accepted (RFC 4291, section 2.2). */
function ipv6Groups(address: string): number[] {
  const [text = ''] = address.split('%', 1);
  const [head = '', tail] = text.split('::');
  const left = groupsOf(head);
  if (tail === undefined) return left;
  const right = groupsOf(tail);
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}

function groupsOf(part: string): number[] {
  if (part === '') return [];
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

function hex(group: number): string {
  return group.toString(16);
}
