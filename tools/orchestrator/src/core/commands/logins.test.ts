import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createPageKey } from '../../../../../test-support/page-key.ts';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { newBrowser, ORIGIN } from '../../../test/support/new-browser.ts';
import { openTestStore, withFields } from '../../../test/support/test-store.ts';
import { ownerName } from '../../platform/git/owner-name.ts';
import { createLogins } from './logins.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const refused = expect.objectContaining({ code: 'not_logged_in' });

async function setUp() {
  const { store, platform, events, file } = await openTestStore();
  const used: string[] = [];
  const deps = {
    store,
    platform,
    ownerName: 'Ada',
    tokenSha256: sha256('a token'),
    publicUrl: 'https://callboard.example.com',
  };
  const logins = await createLogins({ ...deps, onCodeUsed: (hash) => used.push(hash) });
  const logIn = async () => logins.redeem({ code: await logins.createCode(), ...newBrowser() });
  return { store, platform, parts: deps, logins, logIn, used, events, file };
}

it('exchanges a code for a login once and emits an event', async () => {
  const { logins, used, events } = await setUp();
  const code = await logins.createCode();
  const { secret, login } = await logins.redeem({ code, ...newBrowser() });
  expect(login).toMatchObject({ name: 'Ada', browser: 'Firefox on Linux' });
  expect(logins.check({ kind: 'page', secret })).toEqual({
    actor: { name: 'Ada' },
    loginId: login.loginId,
    device: 'Firefox on Linux',
    kind: 'page',
  });
  expect(events.at(-1)).toMatchObject({ type: 'login-created', data: login });
  expect(used).toEqual([sha256(code)]);
  await expect(logins.redeem({ code, ...newBrowser() })).rejects.toMatchObject({ code: 'bad_login_link' });
  expect(await logins.list()).toEqual([login]);
});

it('keeps a code valid when the key sent with it is invalid', async () => {
  const { logins } = await setUp();
  const code = await logins.createCode();
  const { key } = createPageKey();
  const notOnTheCurve = { ...newBrowser(), key: { ...key, y: key.x } };
  await expect(logins.redeem({ code, ...notOnTheCurve })).rejects.toMatchObject({ code: 'bad_request' });
  await logins.redeem({ code, ...newBrowser() });
});

it('refuses a cookie secret as a token, and a token as a cookie', async () => {
  const { logins, logIn } = await setUp();
  const { secret } = await logIn();
  expect(() => logins.check({ kind: 'token', secret })).toThrow(refused);
  expect(() => logins.check({ kind: 'page', secret: 'a token' })).toThrow(refused);
  expect(logins.check({ kind: 'token', secret: 'a token' })).toEqual({
    actor: { name: 'API token' },
    loginId: null,
    kind: 'token',
  });
});

it('accepts only a page that holds the key of its login, on the origin of that login', async () => {
  const { logins } = await setUp();
  const { key, signFor } = createPageKey();
  const { login } = await logins.redeem({ code: await logins.createCode(), ...newBrowser(), key });
  const { loginId } = login;
  const proof = (origin: string, signature: string) => ({ origin, nonce: 'n1', signature });
  await logins.prove(loginId, proof(ORIGIN, signFor(ORIGIN, 'n1')));
  const elsewhere = 'http://127.0.0.1:3200';
  for (const wrong of [
    proof(ORIGIN, signFor(ORIGIN, 'n2')),
    proof(ORIGIN, createPageKey().signFor(ORIGIN, 'n1')),
    proof(ORIGIN, signFor(elsewhere, 'n1')),
    // Signed correctly for the other origin, by a page there that has the key.
    proof(elsewhere, signFor(elsewhere, 'n1')),
    proof(ORIGIN, ''),
  ]) {
    await expect(logins.prove(loginId, wrong)).rejects.toMatchObject({ code: 'page_not_known' });
  }
  await expect(logins.prove('unknown', proof(ORIGIN, signFor(ORIGIN, 'n1')))).rejects.toMatchObject({
    code: 'page_not_known',
  });
});

it('ends a login at once, only once, and emits an event', async () => {
  const { logins, logIn, events } = await setUp();
  const { secret, login } = await logIn();
  const other = await logIn();
  expect(await logins.end(login.loginId, 'Ben')).toEqual(login);
  expect(events.at(-1)).toMatchObject({ type: 'login-ended', data: { loginId: login.loginId, by: 'Ben' } });
  expect(() => logins.check({ kind: 'page', secret })).toThrow(refused);
  await expect(logins.end(login.loginId, 'Ben')).rejects.toMatchObject({ code: 'unknown_login' });
  expect(await logins.list()).toEqual([other.login]);
});

it('refuses an old login without a key', async () => {
  const { store, logins } = await setUp();
  const old = {
    kind: 'session',
    name: 'Ada',
    createdAt: '2026-01-01T00:00:00.000Z',
    page: null,
    terminal: null,
  } as const;
  await store.transact((tx) =>
    tx.logins.save({ ...old, secretHash: sha256('old'), expiresAt: '2099-01-01T00:00:00.000Z' }),
  );
  expect(() => logins.check({ kind: 'page', secret: 'old' })).toThrow(refused);
  expect(await logins.list()).toEqual([]);
});

it('checks a credential without waiting for the store', async () => {
  const { store, logins, logIn } = await setUp();
  const { secret } = await logIn();
  const held = Promise.withResolvers<void>();
  const writing = store.transact(() => held.promise);
  expect(logins.check({ kind: 'page', secret })).toMatchObject({ actor: { name: 'Ada' } });
  held.resolve();
  await writing;
});

it('keeps logins across a restart, without those that have ended', async () => {
  const { parts, logins, logIn } = await setUp();
  const [saved, ended] = [await logIn(), await logIn()];
  await logins.end(ended.login.loginId, 'Ben');
  const again = await createLogins(parts);
  expect(again.check({ kind: 'page', secret: saved.secret })).toMatchObject({ loginId: saved.login.loginId });
  expect(() => again.check({ kind: 'page', secret: ended.secret })).toThrow(refused);
});

it('keeps a login valid when its end could not be stored, and throws', async () => {
  const { store, parts, logIn } = await setUp();
  const failing: typeof store = {
    ...store,
    transact: (work) =>
      store.transact(async (tx) => {
        await work(tx);
        throw new Error('the disk is full');
      }),
  };
  const { secret, login } = await logIn();
  const logins = await createLogins({ ...parts, store: failing });
  await expect(logins.end(login.loginId, 'Ben')).rejects.toThrow('the disk is full');
  expect(logins.check({ kind: 'page', secret })).toMatchObject({ loginId: login.loginId });
});

it('forgets an expired login when the store does, so that a clock set back does not revive it', async () => {
  const { store, platform, logins, logIn } = await setUp();
  const { secret, login } = await logIn();
  const later = new Date(Date.parse(login.expiresAt) + 1_000);
  await store.transact(async (tx) => {
    await tx.clock.advance(later.toISOString(), 0); // begins now
    await tx.clock.advance(later.toISOString(), later.getTime() - platform.now().getTime() + 60_000);
  });
  await logins.createCode();
  expect(() => logins.check({ kind: 'page', secret })).toThrow(refused);
});

it('invites one more browser of the same person, once, for an hour', async () => {
  const { logins, platform } = await setUp();
  const { code, expiresAt, publicUrl } = await logins.invite('Grace');
  expect(publicUrl).toBe('https://callboard.example.com');
  const validMs = Date.parse(expiresAt) - platform.now().getTime();
  expect(Math.round(validMs / 60_000)).toBe(60);
  expect((await logins.redeem({ code, ...newBrowser() })).login.name).toBe('Grace');
  await expect(logins.redeem({ code, ...newBrowser() })).rejects.toMatchObject({ code: 'bad_login_link' });
});

it('logs a terminal in with a token that is listed, survives a restart, is no cookie, and ends at once', async () => {
  const { logins, parts, events } = await setUp();
  const token = await logins.createTerminal('Terminal on desk');
  const [login] = await logins.list();
  expect(login).toMatchObject({ name: 'Ada', browser: 'Terminal on desk' });
  expect(events.at(-1)).toMatchObject({ type: 'login-created', data: login });
  const again = await createLogins(parts);
  for (const one of [logins, again]) {
    expect(one.check({ kind: 'token', secret: token })).toEqual({
      actor: { name: 'Ada' },
      loginId: login?.loginId,
      device: 'Terminal on desk',
      kind: 'token',
    });
    expect(() => one.check({ kind: 'page', secret: token })).toThrow(refused);
  }
  await again.end(login?.loginId ?? '', 'Ben');
  expect(() => again.check({ kind: 'token', secret: token })).toThrow(refused);
  expect(await again.list()).toEqual([]);
});

it('cannot prove a page with the login of a terminal', async () => {
  const { logins } = await setUp();
  await logins.createTerminal('Terminal on desk');
  const [login] = await logins.list();
  const { signFor } = createPageKey();
  const proof = { origin: ORIGIN, nonce: 'n1', signature: signFor(ORIGIN, 'n1') };
  await expect(logins.prove(login?.loginId ?? '', proof)).rejects.toMatchObject({ code: 'page_not_known' });
});

it('makes a token that reads metrics and can do nothing else, until it is revoked', async () => {
  const { logins, parts } = await setUp();
  const token = await logins.createMetricsToken('Ben');
  const [listed] = await logins.list();
  expect(listed).toMatchObject({ name: 'Ben', browser: 'Metrics' });
  const again = await createLogins(parts);
  for (const one of [logins, again]) {
    await one.requireMetricsToken(token);
    for (const kind of ['page', 'token'] as const) expect(() => one.check({ kind, secret: token })).toThrow(refused);
  }
  const terminal = await again.createTerminal('Terminal on desk');
  await expect(again.requireMetricsToken(terminal)).rejects.toThrow(refused);
  await again.end(listed?.loginId ?? '', 'Ben');
  for (const one of [logins, again]) await expect(one.requireMetricsToken(token)).rejects.toThrow(refused);
});

it('knows a login of another machine with its first command, and refuses it as soon as it was ended there', async () => {
  const { logins, logIn, parts } = await setUp();
  const other = await createLogins(parts);
  const { secret, login } = await logIn();
  const credential = { kind: 'page', secret } as const;
  await other.lookUp(credential);
  expect(other.check(credential)).toMatchObject({ loginId: login.loginId });
  await logins.end(login.loginId, 'Ada');
  expect(() => other.check(credential)).toThrow(refused);
  await other.lookUp(credential);
  expect(() => other.check(credential)).toThrow(refused);
});

it('does not take a login that is ended while it is read', async () => {
  const { logins, logIn, parts } = await setUp();
  const { secret, login } = await logIn();
  const slow = Promise.withResolvers<void>();
  const read = withFields(parts.store.read, {
    logins: withFields(parts.store.read.logins, {
      list: async () => [],
      async find(secretHash) {
        const found = await parts.store.read.logins.find(secretHash);
        await slow.promise;
        return found;
      },
    }),
  });
  const other = await createLogins({ ...parts, store: withFields(parts.store, { read }) });
  const credential = { kind: 'page', secret } as const;
  const watching = other.lookUp(credential);
  await logins.end(login.loginId, 'Ada');
  slow.resolve();
  await watching;
  expect(() => other.check(credential)).toThrow(refused);
});

it('calls the person at this machine as git does, and never root', async () => {
  const home = await temporaryFolder();
  const env = { PATH: process.env.PATH ?? '', HOME: home, GIT_CONFIG_NOSYSTEM: '1' };
  expect(await ownerName(env)).not.toBe('root');
  await writeFile(join(home, '.gitconfig'), '[user]\n\tname = Ada Lovelace\n');
  expect(await ownerName(env)).toBe('Ada Lovelace');
});
