import { PendingRequest } from '@callboard/contract';
import { expect, it } from 'vitest';
import { hostPlace } from './host-place.ts';
import { isShort } from './short.ts';

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
  ['registry.npmjs.org', null],
  ['172.32.0.1', null],
  ['10.example.com', null],
  ['127.0.0.1.example.com', null],
  ['notlocalhost.example', null],
])('knows where %s is', (host, place) => {
  expect(hostPlace(host)).toBe(place);
});

const request = (host: string) =>
  PendingRequest.parse({
    ...{ stageId: 'S1', requestId: 'r1', kind: 'network', toolName: 'SandboxNetworkAccess', displayName: 'x' },
    ...{ input: { host }, description: null, toolUseId: '', agent: null, reason: null, blockedPath: null },
    ...{ suggestions: [], suppressAlwaysAllow: false, createdAt: '2026-01-02T03:04:05.000Z' },
  });

it('lets a card decide on a plain host alone', () => {
  expect(isShort(request('registry.npmjs.org'))).toBe(true);
  for (const host of ['', '127.0.0.1', 'a\u202eb.example', `${'a'.repeat(61)}.org`])
    expect(isShort(request(host))).toBe(false);
});
