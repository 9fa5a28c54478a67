import { chmod, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { findPairing, tailscaleOf } from './find-pairing.ts';

/** As `tailscale status --json` of 1.80 prints it, shortened. */
const STATUS = {
  Version: '1.80.2-t4b2e5e3a1-gb0d0a3a4c',
  TUN: true,
  BackendState: 'Running',
  HaveNodeKey: true,
  AuthURL: '',
  TailscaleIPs: ['100.101.102.103', 'fd7a:115c:a1e0::1'],
  Self: { ID: 'n1', HostName: 'desk', DNSName: 'desk.tail1234.ts.net.', OS: 'linux', Online: true },
  MagicDNSSuffix: 'tail1234.ts.net',
  CertDomains: ['desk.tail1234.ts.net'],
  Peer: null,
};

/** As `tailscale serve status --json` prints it. */
const SERVES = {
  TCP: { 443: { HTTPS: true }, 8443: { HTTPS: true }, 5432: { TCPForward: '127.0.0.1:5432' } },
  Web: {
    'desk.tail1234.ts.net:443': { Handlers: { '/': { Path: '/srv/www' }, '/x': { Proxy: 'http://127.0.0.1:9' } } },
    'desk.tail1234.ts.net:8443': { Handlers: { '/': { Proxy: 'http://127.0.0.1:3100' } } },
  },
};

const printed = (value: unknown) => ({ failed: false, stdout: JSON.stringify(value) });
const failed = { failed: true, stdout: '' };

it('reads the name of the machine, and what is served already', () => {
  expect(tailscaleOf(printed(STATUS), printed(SERVES))).toEqual({
    name: 'desk.tail1234.ts.net',
    serves: [
      { port: 443, target: '' },
      { port: 5432, target: '' },
      { port: 8443, target: 'http://127.0.0.1:3100' },
    ],
  });
  const onTheInternet = { ...SERVES, AllowFunnel: { 'desk.tail1234.ts.net:8443': true } };
  expect(tailscaleOf(printed(STATUS), printed(onTheInternet))?.serves.at(-1)).toEqual({ port: 8443, target: '' });
  const nothing = { name: 'desk.tail1234.ts.net', serves: [] };
  expect(tailscaleOf(printed(STATUS), printed({}))).toEqual(nothing);
  expect(tailscaleOf(printed(STATUS), failed)).toEqual(nothing); // a version without `serve`
});

it.each([
  ['is not installed, or its service does not run', failed],
  ['is logged out', printed({ ...STATUS, BackendState: 'NeedsLogin', Self: { DNSName: '' } })],
  ['is stopped', printed({ ...STATUS, BackendState: 'Stopped' })],
  ['has no names', printed({ ...STATUS, Self: { DNSName: '' } })],
  ['prints something else', printed(['desk'])],
  ['prints no JSON', { failed: false, stdout: '# Health check:' }],
])('offers no Tailscale if it %s', (_what, status) => {
  expect(tailscaleOf(status, printed(SERVES))).toBeNull();
});

it('asks the tailscale of the PATH, and goes on without one', async () => {
  const bin = await temporaryFolder();
  const env = { PATH: `${bin}:/usr/bin:/bin` };
  const find = () => findPairing({ env, startCommand: 'npx callboard start' });
  const found = await find();
  expect(found).toMatchObject({ startCommand: 'npx callboard start', tailscale: null });
  expect(found.sshTarget).toMatch(new RegExp(`^[^@]+@${hostname()}$`));

  const program = join(bin, 'tailscale');
  const script = `#!/bin/sh\n[ "$*" = "status --json" ] && echo '${JSON.stringify(STATUS)}' || exit 1\n`;
  await writeFile(program, script);
  await chmod(program, 0o755);
  expect((await find()).tailscale).toEqual({ name: 'desk.tail1234.ts.net', serves: [] });
});

it('does not wait for a tailscale that hangs', async () => {
  const bin = await temporaryFolder();
  const program = join(bin, 'tailscale');
  await writeFile(program, '#!/bin/sh\nexec sleep 600\n');
  await chmod(program, 0o755);
  const found = await findPairing({ env: { PATH: `${bin}:/usr/bin:/bin` }, startCommand: null });
  expect(found.tailscale).toBeNull();
});
