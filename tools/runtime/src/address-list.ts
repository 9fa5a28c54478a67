import { BlockList, isIP } from 'node:net';

/** A set of IP addresses. */
export interface AddressList {
  /** Whether the address is in the set; false for what is no address. */
  has(address: string): boolean;
}

interface Entry {
  address: string;
  family: 'ipv4' | 'ipv6';
  /** The length of the prefix; null for one address. */
  prefix: number | null;
}

/** Whether a text names an address or a network: `192.0.2.7`, `10.0.0.0/8`, `fd00::/8`. */
export const isAddressEntry = (text: string): boolean => readEntry(text) !== null;

/** Returns the set of these addresses and networks. @throws RangeError for an entry that is neither */
export function addressList(entries: readonly string[]): AddressList {
  const list = new BlockList();
  for (const text of entries) {
    const entry = readEntry(text);
    if (entry === null) throw new RangeError(`${JSON.stringify(text)} is neither an address nor a network`);
    const { address, family, prefix } = entry;
    if (prefix === null) list.addAddress(address, family);
    else list.addSubnet(address, prefix, family);
  }
  return {
    has(given) {
      const address = plainAddress(given);
      const family = familyOf(address);
      return family !== null && list.check(address, family);
    },
  };
}

/** The addresses that only this machine can reach. */
export const loopbackAddresses: AddressList = addressList(['127.0.0.0/8', '::1']);

/** Returns an address without its zone, and an IPv4 address that came over an IPv6 socket (`::ffff:192.0.2.7`) as IPv4. */
export function plainAddress(address: string): string {
  const [plain = ''] = address.toLowerCase().split('%', 1);
  return /^::ffff:(\d+(?:\.\d+){3})$/.exec(plain)?.[1] ?? plain;
}

function readEntry(text: string): Entry | null {
  const [address = '', prefix, ...more] = text.split('/');
  const family = familyOf(address);
  if (family === null || more.length > 0) return null;
  if (prefix === undefined) return { address, family, prefix: null };
  const length = /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  return length <= (family === 'ipv4' ? 32 : 128) ? { address, family, prefix: length } : null;
}

function familyOf(address: string): Entry['family'] | null {
  const family = isIP(address);
  if (family === 0) return null;
  return family === 4 ? 'ipv4' : 'ipv6';
}
