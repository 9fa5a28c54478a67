import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** Addresses that are not on the internet, or that stand for others (IANA's special-purpose registries). */
const SPECIAL: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
];
/** Of IPv6 only this is handed out, and these parts of it are not. */
const GLOBAL_V6 = ['2000::', 3] as const;
const SPECIAL_V6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
];

const special = new BlockList();
for (const [network, prefix] of SPECIAL) special.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of SPECIAL_V6) special.addSubnet(network, prefix, 'ipv6');
const global = new BlockList();
global.addSubnet(...GLOBAL_V6, 'ipv6');

/** Whether an IP address is one of the internet: not of this machine, of a private network, or of a cloud's own services. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !special.check(address, 'ipv4');
  return isIPv6(address) && global.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
