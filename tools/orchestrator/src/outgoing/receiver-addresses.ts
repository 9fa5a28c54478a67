import { BlockList, isIPv6 } from 'node:net';
import { isPublicAddress } from '../lib/public-address.ts';

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

/** Why a receiver at `this machine` is not called without its own setting. */
export const THIS_MACHINE =
  'it is the machine of Callboard itself; turn on "On this machine" if the receiver is meant to be there';

/**
 * Returns why a receiver must not be called at an address; null if it may. Private networks are the choice of whoever runs Callboard. What is
 * said on the way to the internet is encrypted.
 */
export function refuseReceiver(
  { url, allowsThisMachine }: { url: string; allowsThisMachine: boolean },
  address: string,
): string | null {
  const plain = address.replace(/%.*$/, '');
  const family = isIPv6(plain) ? 'ipv6' : 'ipv4';
  if (thisMachine.check(plain, family)) return allowsThisMachine ? null : THIS_MACHINE;
  if (nobodys.check(plain, family)) return 'no receiver can be at such an address';
  if (url.startsWith('https:') || !isPublicAddress(plain)) return null;
  return 'it is on the internet, where everybody on the way could read the call; use an address with https';
}
