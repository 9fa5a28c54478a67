import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseDatabaseUrl } from '@callboard/runtime/database-url';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { readFlags } from '../command-line/flags.ts';
import { parseStartOptions, startFlags } from '../command-line/start-options.ts';
import { nodePlatform, type Platform } from '../platform.ts';
import { requireTrustInLogins, requireTrustInSharedStore } from './start.ts';

const CERTIFICATE = ['--tls-cert', 'a.pem', '--tls-key', 'a.key'];
const never = new AbortController().signal;

/** A machine where the person at the terminal gives these answers, one after the other. */
async function setUp({
  answers = [],
  sandbox = 'fails',
}: {
  answers?: (string | null)[];
  sandbox?: 'works' | 'fails';
} = {}) {
  const dataDir = await temporaryFolder();
  const asked: string[] = [];
  const said: string[] = [];
  let checks = 0;
  const platform: Platform = {
    ...nodePlatform(process),
    err: (line) => void said.push(line),
    ask: async (question) => {
      asked.push(question);
      return answers.shift() ?? null;
    },
    inspectSandbox: async () => {
      checks += 1;
      return sandbox === 'works'
        ? { state: 'works', why: null, how: null }
        : { state: 'fails', why: 'bubblewrap is not installed.', how: null };
    },
  };
  const start = (...args: string[]) => {
    const given = readFlags('start', [...args, '--data-dir', dataDir], startFlags, {});
    return requireTrustInLogins(parseStartOptions(given, { cwd: '/', home: '/' }), platform, never);
  };
  const share = (...args: string[]) => {
    const given = readFlags('start', [...args, '--data-dir', dataDir], startFlags, {});
    const url = 'postgres://ann:hush@db.example/board';
    const store = { url, address: parseDatabaseUrl(url), name: 'db.example:5432/board' };
    return requireTrustInSharedStore(store, parseStartOptions(given, { cwd: '/', home: '/' }), platform, never);
  };
  return { dataDir, asked, said, start, share, checks: () => checks };
}

it('asks once, in words, where no session can be isolated, and remembers a yes', async () => {
  const { start, asked, dataDir } = await setUp({ answers: ['yes'] });
  await start('--host', '192.0.2.1', ...CERTIFICATE);
  expect(asked).toEqual([
    'callboard: no session can be isolated on this machine (bubblewrap is not installed). ' +
      'Whoever logs in at https://192.0.2.1:3100 can run any command here as you.\n' +
      'Start anyway? Type yes to agree, once for this data directory: ',
  ]);
  await start('--host', '192.0.2.1', ...CERTIFICATE);
  expect(asked).toHaveLength(1);
  expect((await stat(join(dataDir, 'run', 'trusted-logins.json'))).mode & 0o777).toBe(0o600);
});

it.each(['no', '', 'yesterday'])('starts nothing after the answer %j, and asks again', async (answer) => {
  const { start, asked } = await setUp({ answers: [answer, 'Y'] });
  await expect(start('--host', '192.0.2.1', ...CERTIFICATE)).rejects.toThrow('--host: not agreed');
  await start('--host', '192.0.2.1', ...CERTIFICATE);
  expect(asked).toHaveLength(2);
});

it('refuses without a terminal, naming the flag that agrees, which is remembered nowhere', async () => {
  const { start, dataDir } = await setUp();
  const refused = /--host: no session can be isolated .* To agree, add --trust-logins, or answer once in a terminal/;
  await expect(start('--host', '192.0.2.1', ...CERTIFICATE)).rejects.toThrow(refused);
  await start('--host', '192.0.2.1', ...CERTIFICATE, '--trust-logins');
  await expect(start('--host', '192.0.2.1', ...CERTIFICATE)).rejects.toThrow(refused);
  await expect(readFile(join(dataDir, 'run', 'trusted-logins.json'))).rejects.toThrow('ENOENT');
});

it('asks again after an agreement that cannot be read', async () => {
  const { start, asked, dataDir } = await setUp({ answers: ['yes', 'yes'] });
  await start('--host', '192.0.2.1', ...CERTIFICATE);
  for (const text of ['{"agreed', '{}']) {
    await writeFile(join(dataDir, 'run', 'trusted-logins.json'), text);
    await expect(start('--host', '192.0.2.1', ...CERTIFICATE).catch(() => 'refused')).resolves.toBe(
      text === '{}' ? 'refused' : undefined,
    );
  }
  expect(asked).toHaveLength(3);
});

it('asks nothing where sessions are isolated, and does not even look where only this machine listens', async () => {
  const isolated = await setUp({ sandbox: 'works' });
  await isolated.start('--host', '0.0.0.0', '--public-url', 'https://callboard.example.com', ...CERTIFICATE);
  expect(isolated.asked).toEqual([]);
  const local = await setUp();
  await local.start();
  await local.start('--public-url', 'http://localhost:8100');
  await local.start(...CERTIFICATE);
  expect([local.asked, local.said, local.checks()]).toEqual([[], [], 0]);
});

it('warns where a proxy on this machine lets others in', async () => {
  const { start, asked, said } = await setUp();
  await start('--behind-proxy', '127.0.0.1', '--public-url', 'https://callboard.example.com');
  expect(asked).toEqual([]);
  expect(said).toEqual([
    expect.stringMatching(
      /warning: no session can be isolated .* Whoever logs in at https:\/\/callboard\.example\.com can run any command here as you\./,
    ),
  ]);
});

it('asks once, in words, before a store is shared where no session can be isolated', async () => {
  const { share, start, asked } = await setUp({ answers: ['no', 'yes'] });
  await expect(share()).rejects.toThrow('the shared store: not agreed, so nothing was started. Start without the URL');
  await share();
  await share();
  expect(asked).toHaveLength(2);
  expect(asked[0]).toBe(
    'callboard: no session can be isolated on this machine (bubblewrap is not installed). ' +
      'A command that Claude runs can read the URL of the shared store (db.example:5432/board), and whoever can read it can run any ' +
      'command as you, on every machine that shares it.\n' +
      'Start anyway? Type yes to agree, once for this data directory: ',
  );
  // Another agreement, about another danger.
  await expect(start('--host', '192.0.2.1', ...CERTIFICATE)).rejects.toThrow('--trust-logins');
});

it('refuses a shared store without a terminal, naming the flag that agrees', async () => {
  const { share } = await setUp();
  await expect(share()).rejects.toThrow(/To agree, add --trust-shared-store, or answer once in a terminal/);
  await share('--trust-shared-store');
});

it('shares a store unasked where sessions are isolated', async () => {
  const { share, asked } = await setUp({ sandbox: 'works' });
  await share();
  expect(asked).toEqual([]);
});
