import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Returned for all peers without an IP address, such as Unix sockets, so they share one bucket. */
const unknownAddress = 'unknown';

/** Longer than any IP address in text form, including an IPv4-mapped IPv6 address with brackets, port and zone. */
const maxEntry_characters = 80;

/**
 * Returns the client's IP address, for the limit of failed authentications and for the log. IPv6 becomes its /64
 * prefix, because a subscriber has at least a /64 (RFC 6177). Trusted proxies appended the last `trustedHops`
 * entries of X-Forwarded-For; the client may have forged the others. Reads the last entries from right to left,
 * and stops at the first that is not an IP address. `forwardedFor`: all X-Forwarded-For lines, joined by commas.
 */
export function clientAddress(peer: string, forwardedFor: string | undefined, trustedHops: number): string {
  let address = normalise(peer) ?? unknownAddress;
  if (forwardedFor === undefined || trustedHops === 0) return address;
  for (const entry of forwardedFor.split(',').slice(-trustedHops).reverse()) {
    const next = normalise(entry);
    if (next === undefined) break;
    address = next;
  }
  return address;
}

function normalise(text: string): string | undefined {
  // Fast path: nearly every peer is IPv4.
  if (isIPv4(text)) return text;
  if (text.length > maxEntry_characters) return undefined;
  const host = withoutPort(text.trim());
  // Node validates the address, because ipaddr.js also accepts octal and short forms, and rejects some zones.
  if (isIP(host) === 0) return undefined;
  const address = ipaddr.process(host.replace(/%.*/, ''));
  if (address instanceof ipaddr.IPv4) return address.toString();
  // The NAT64 prefix 64:ff9b::/96 is followed by the client's IPv4 address (RFC 6052, section 2.1).
  if (address.range() === 'rfc6052') return address.toByteArray().slice(-4).join('.');
  const network = address.parts.slice(0, 4).map((part) => part.toString(16));
  return `${network.join(':')}::/64`;
}

/** Some proxies write `192.0.2.1:4711` or `[2001:db8::1]:4711`; some add quotes as in RFC 7239, section 6. */
function withoutPort(text: string): string {
  const bare = text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text;
  const match = /^\[([^\]]*)\](?::\d{1,5})?$/.exec(bare) ?? /^([\d.]+):\d{1,5}$/.exec(bare);
  return match?.[1] ?? bare;
}
