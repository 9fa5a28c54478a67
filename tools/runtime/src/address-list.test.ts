import { expect, it } from 'vitest';
import { addressList, isAddressEntry, loopbackAddresses, plainAddress } from './address-list.ts';

it('holds addresses and networks of both families', () => {
  const list = addressList(['192.0.2.7', '10.0.0.0/8', 'fd00::/8', '2001:db8::1']);
  for (const address of ['192.0.2.7', '10.200.3.4', 'fd12::1', '2001:DB8::1', '::ffff:10.1.2.3', 'fd12::1%eth0'])
    expect(list.has(address), address).toBe(true);
  for (const address of ['192.0.2.8', '11.0.0.1', 'fe80::1', '', 'unknown', 'localhost'])
    expect(list.has(address), address).toBe(false);
});

it('refuses what is no address', () => {
  for (const text of [
    'localhost',
    '10.0.0.0/33',
    '::/129',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    '10.0.0.0/x',
    '',
    '*',
    '10.0.0',
  ])
    expect([text, isAddressEntry(text)]).toEqual([text, false]);
  expect(() => addressList(['nowhere'])).toThrow('"nowhere" is neither an address nor a network');
});

it('knows this machine, also over an IPv6 socket', () => {
  for (const address of ['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])
    expect(loopbackAddresses.has(address)).toBe(true);
  for (const address of ['0.0.0.0', '::', '192.168.0.1']) expect(loopbackAddresses.has(address)).toBe(false);
  expect(plainAddress('::FFFF:192.0.2.7')).toBe('192.0.2.7');
});
