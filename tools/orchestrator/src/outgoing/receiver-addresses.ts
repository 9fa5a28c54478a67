import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

const thisMachine = new BlockList();
thisMachine.addSubnet('127.0.0.0', 8, 'ipv4');
thisMachine.addSubnet('0.0.0.0', 8, 'ipv4');
thisMachine.addAddress('::1', 'ipv6');
thisMachine.addAddress('::', 'ipv6');

/** Nobody's receiver is there: what a cloud tells its machines, link-local addresses, and those of many at once. */
const nobodys = new BlockList();
nobodys.addSubnet('169.254.0.0', 16, 'ipv4');
nobodys.addAddress('100.100.100.200', 'ipv4');
nobodys.addSubnet('224.0.0.0', 3, 'ipv4');
nobodys.addSubnet('fe80::', 10, 'ipv6');
nobodys.addAddress('fd00:ec2::254', 'ipv6');
nobodys.addSubnet('ff00::', 8, 'ipv6');

/** Where plain http may go: nobody on the internet can listen there. */
const privateNetworks = new BlockList();
privateNetworks.addSubnet('10.0.0.0', 8, 'ipv4');
privateNetworks.addSubnet('172.16.0.0', 12, 'ipv4');
privateNetworks.addSubnet('192.168.0.0', 16, 'ipv4');
privateNetworks.addSubnet('100.64.0.0', 10, 'ipv4');
privateNetworks.addSubnet('fc00::', 7, 'ipv6');

/** Why a receiver at `this machine` is not called without its own setting. */
export const THIS_MACHINE =
  'it is the machine of Callboard itself; turn on "On this machine" if the receiver is meant to be there';

/** The addresses by which others reach this machine. They come and go with its networks. */
const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address));

/**
 * Returns why a receiver must not be called at an address; null if it may. Private networks are the choice of whoever runs Callboard. What is
 * said on the way to the internet is encrypted.
 *
 * @param own the addresses of this machine in its networks
 */
export function refuseReceiver(
  { url, allowsThisMachine }: { url: string; allowsThisMachine: boolean },
  address: string,
  own: readonly string[] = ownAddresses(),
): string | null {
  const plain = withoutTranslation(address.replace(/%.*$/, ''));
  const family = isIPv6(plain) ? 'ipv6' : 'ipv4';
  if (nobodys.check(plain, family)) return 'no receiver can be at such an address';
  if (thisMachine.check(plain, family) || isOneOf(own, plain)) return allowsThisMachine ? null : THIS_MACHINE;
  if (url.startsWith('https:') || privateNetworks.check(plain, family)) return null;
  return 'it is on the internet, where everybody on the way could read the call; use an address with https';
}

/** Compares as addresses, since one of IPv6 can be written in several ways. */
function isOneOf(addresses: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const one of addresses) list.addAddress(one.replace(/%.*$/, ''), isIPv6(one) ? 'ipv6' : 'ipv4');
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}

/** Returns the IPv4 address that one of 64:ff9b::/96 is translated to on the way; others as they are. */
function withoutTranslation(address: string): string {
  if (!isIPv6(address)) return address;
  const { hostname } = new URL(`http://[${address}]`);
  const rest = /^\[64:ff9b::(?:([\da-f]{1,4}):)?([\da-f]{0,4})\]$/.exec(hostname);
  if (rest === null) return address;
  const words = [rest[1], rest[2]].map((word = '') => Number.parseInt(word === '' ? '0' : word, 16));
  return words.flatMap((word) => [word >> 8, word & 255]).join('.');
}
