import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { newBrowser, newKey, ORIGIN } from '../../test/support/new-browser.ts';
import { openTestStore } from '../../test/support/test-store.ts';
import { createLogins } from './logins.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

async function setUp() {
  const { store, edges, events, file } = await openTestStore();
  const used: string[] = [];
  const parts = { store, edges, ownerName: 'Ada', tokenSha256: sha256('a token') };
  const logins = createLogins({ ...parts, onCodeUsed: (hash) => used.push(hash) });
  const logIn = async () => logins.redeem({ code: await logins.createCode(), ...newBrowser() });
  return { store, logins, logIn, used, events, file };
}

it('gives a login for a code once, and tells everybody of it', async () => {
  const { logins, used, events } = await setUp();
  const code = await logins.createCode();
  const { secret, login } = await logins.redeem({ code, ...newBrowser() });
  expect(login).toMatchObject({ name: 'Ada', browser: 'Firefox on Linux' });
  expect(await logins.check({ kind: 'page', secret })).toEqual({ actor: { name: 'Ada' }, loginId: login.loginId });
  expect(events.at(-1)).toMatchObject({ type: 'login-created', data: login });
  expect(used).toEqual([sha256(code)]);
  await expect(logins.redeem({ code, ...newBrowser() })).rejects.toMatchObject({ code: 'bad_login_link' });
  expect(await logins.list()).toEqual([login]);
});

it('keeps a code good where the key that came with it is none', async () => {
  const { logins } = await setUp();
  const code = await logins.createCode();
  const { key } = newKey();
  const notOnTheCurve = { ...newBrowser(), key: { ...key, y: key.x } };
  await expect(logins.redeem({ code, ...notOnTheCurve })).rejects.toMatchObject({ code: 'bad_request' });
  await logins.redeem({ code, ...newBrowser() });
});

it('takes the secret of a cookie for no token, and a token for no cookie', async () => {
  const { logins, logIn } = await setUp();
  const { secret } = await logIn();
  await expect(logins.check({ kind: 'token', secret })).rejects.toMatchObject({ code: 'not_logged_in' });
  await expect(logins.check({ kind: 'page', secret: 'a token' })).rejects.toMatchObject({ code: 'not_logged_in' });
  expect(await logins.check({ kind: 'token', secret: 'a token' })).toEqual({
    actor: { name: 'API token' },
    loginId: null,
  });
});

it('believes the page that has the key of its login, of its own origin, and no other', async () => {
  const { logins } = await setUp();
  const { key, signFor } = newKey();
  const { login } = await logins.redeem({ code: await logins.createCode(), ...newBrowser(), key });
  const { loginId } = login;
  const proof = (origin: string, signature: string) => ({ origin, nonce: 'n1', signature });
  await logins.prove(loginId, proof(ORIGIN, signFor(ORIGIN, 'n1')));
  const elsewhere = 'http://127.0.0.1:3200';
  for (const wrong of [
    proof(ORIGIN, signFor(ORIGIN, 'n2')),
    proof(ORIGIN, newKey().signFor(ORIGIN, 'n1')),
    proof(ORIGIN, signFor(elsewhere, 'n1')),
    // Signed for the place where it is shown: by a page of another origin, which has the key.
    proof(elsewhere, signFor(elsewhere, 'n1')),
    proof(ORIGIN, ''),
  ]) {
    await expect(logins.prove(loginId, wrong)).rejects.toMatchObject({ code: 'page_not_known' });
  }
  await expect(logins.prove('unknown', proof(ORIGIN, signFor(ORIGIN, 'n1')))).rejects.toMatchObject({
    code: 'page_not_known',
  });
});

it('ends a login at once, once, and tells everybody', async () => {
  const { logins, logIn, events } = await setUp();
  const { secret, login } = await logIn();
  const other = await logIn();
  expect(await logins.end(login.loginId, 'Ben')).toEqual(login);
  expect(events.at(-1)).toMatchObject({ type: 'login-ended', data: { loginId: login.loginId, by: 'Ben' } });
  await expect(logins.check({ kind: 'page', secret })).rejects.toMatchObject({ code: 'not_logged_in' });
  await expect(logins.end(login.loginId, 'Ben')).rejects.toMatchObject({ code: 'unknown_login' });
  expect(await logins.list()).toEqual([other.login]);
});

it('takes no login of before, which has no key', async () => {
  const { store, logins } = await setUp();
  const old = { kind: 'session', name: 'Ada', createdAt: '2026-01-01T00:00:00.000Z', page: null } as const;
  await store.transact((tx) =>
    tx.logins.save({ ...old, secretHash: sha256('old'), expiresAt: '2099-01-01T00:00:00.000Z' }),
  );
  await expect(logins.check({ kind: 'page', secret: 'old' })).rejects.toMatchObject({ code: 'not_logged_in' });
  expect(await logins.list()).toEqual([]);
});
