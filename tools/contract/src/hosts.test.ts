import { expect, it } from 'vitest';
import { hostLocation, hostRule } from './sandbox.ts';

it.each([
  ['packages.example.com', 'packages.example.com'],
  ['Packages.Example.COM.', 'packages.example.com'],
  ['a_b.example', 'a_b.example'],
  ['nas', 'nas'],
  ['10.0.0.1', '10.0.0.1'],
  ['2001:DB8::1', '[2001:db8::1]'],
  ['[::ffff:10.0.0.1]', '[::ffff:10.0.0.1]'],
])('makes a rule for exactly the host %s', (host, rule) => {
  expect(hostRule(host)).toBe(rule);
});

it.each([
  '*.example.com',
  '*',
  'example.com:8080',
  'a,b.example',
  'a)b.example',
  'a b.example',
  'a\u202eb.example',
  'http://example.com',
  'example..com',
  '-a.example',
  '.example',
  '',
  `${'a'.repeat(64)}.example`,
  `${'a.'.repeat(130)}example`,
  'localhost',
  '127.0.0.1',
  '[::1]',
  '169.254.169.254',
])('keeps no rule for "%s", which may stand for more than one host, or is never to be kept', (host) => {
  expect(hostRule(host)).toBeNull();
});

it.each([
  ['localhost', 'this-machine'],
  ['LocalHost.', 'this-machine'],
  ['api.localhost', 'this-machine'],
  ['127.0.0.1', 'this-machine'],
  ['127.1', 'this-machine'],
  ['0.0.0.0', 'this-machine'],
  ['::1', 'this-machine'],
  ['[::1]', 'this-machine'],
  ['::ffff:127.0.0.1', 'this-machine'],
  ['169.254.169.254', 'metadata'],
  ['metadata.google.internal', 'metadata'],
  ['10.1.2.3', 'local-network'],
  ['172.20.0.1', 'local-network'],
  ['192.168.1.1', 'local-network'],
  ['fd12::1', 'local-network'],
  ['printer.local', 'local-network'],
  ['nas', 'local-network'],
  ['packages.example.com', null],
  ['172.32.0.1', null],
  ['10.example.com', null],
  ['127.0.0.1.example.com', null],
  ['notlocalhost.example', null],
])('knows where %s is', (host, place) => {
  expect(hostLocation(host)).toBe(place);
});
