import { createHash, createPublicKey, randomBytes, verify } from 'node:crypto';
import {
  type Actor,
  type CommandInput,
  type CommandReply,
  type Credential,
  type Login,
  type PageKey,
  proofText,
} from '@callboard/contract';
import { Rejection } from '../../lib/errors.ts';
import type { Platform } from '../../platform/runtime.ts';
import type { LoginPage, LoginRecord, LoginTerminal } from '../../store/ports/event-port.ts';
import type { Store, Tx } from '../../store/store.ts';

export interface LoginsDeps {
  store: Store;
  platform: Platform;
  /** The name of the person at this machine in the decision log. */
  ownerName: string;
  /** SHA-256, in hex, of an API token that never expires. */
  tokenSha256: string | null;
  /** The origin that people open, for login links; null if it is not known. */
  publicUrl: string | null;
  /** Called after somebody has logged in with a code, with the code's SHA-256 in hex. */
  onCodeUsed?: (codeSha256: string) => void;
}

/** Who sends a command. */
export interface Authenticated {
  actor: Actor;
  /** Null for the API token of the configuration, which has no login. */
  loginId: string | null;
  /** What the list of logins calls the browser or terminal; left out without a login. */
  device?: string;
  kind: Credential['kind'];
}

/** Who may use Callboard. A secret is handed out once; only its hash is stored. */
export interface Logins {
  /** Creates a one-time code for a login link. */
  createCode(): Promise<string>;
  /** Creates a one-time code for one more browser of this person, valid for an hour. */
  invite(name: string): Promise<Omit<CommandReply<'create_login_code'>, 'pairing'>>;
  /** Logs a terminal of the person at this machine in. Returns its token, which is not stored. @param name in words: "Terminal on desk" */
  createTerminal(name: string): Promise<string>;
  /** Makes a token that reads the metrics and can do nothing else. Returns it; it is not stored. @param by who asked for it */
  createMetricsToken(by: string): Promise<string>;
  /** Resolves if this is a token for metrics, also one that another machine made. @throws Rejection `not_logged_in` */
  requireMetricsToken(token: string): Promise<void>;
  /**
   * Exchanges a code for a login of the browser that holds the key.
   * @throws Rejection `bad_login_link` for a used, expired or unknown code; `bad_request` for an invalid key
   */
  redeem(input: CommandInput<'auth_redeem'>): Promise<CommandReply<'auth_redeem'>>;
  /** Returns whose credential this is. Synchronous, so no command waits for the store. @throws Rejection `not_logged_in` */
  check(credential: Credential): Authenticated;
  /** Reads a login that another machine made, unless it is known. For a credential that may be new. */
  lookUp(credential: Credential): Promise<void>;
  /**
   * Checks that a page holds the key of this login.
   * @throws Rejection `page_not_known` for a page without the login's key or from another origin
   */
  prove(loginId: string | null, input: CommandInput<'auth_prove'>): Promise<void>;
  /** Returns the browsers and terminals that are logged in, newest first. */
  list(): Promise<Login[]>;
  /** Ends a login at once. The event names `by`. @throws Rejection `unknown_login` */
  end(loginId: string, by: string): Promise<Login>;
}

const HOUR_MS = 3_600_000;
const CODE_MS = 12 * HOUR_MS;
const INVITATION_MS = HOUR_MS;
const SESSION_MS = 90 * 24 * HOUR_MS;
/** Monitoring must not end by itself. */
const METRICS_MS = 10 * 365 * 24 * HOUR_MS;

const NOT_LOGGED_IN =
  'This login is unknown or has ended. Get a new login link: press l in Callboard’s terminal, or run npx callboard link. In a terminal: npx callboard login.';
const USED_LINK =
  'This login link has already been used or has expired. Get a new one: press l in Callboard’s terminal, or run npx callboard link.';

const NO_METRICS_TOKEN =
  'This is not a token for metrics, or it was revoked. Make one in the dialog Logins on the board.';

const PAGE_NOT_KNOWN =
  'This browser no longer has the key that it made when it logged in. Log in again: press l in Callboard’s terminal, or run npx callboard link.';

const hash = (secret: string): string => createHash('sha256').update(secret).digest('hex');
const newSecret = (): string => randomBytes(32).toString('base64url');

const deviceOf = (record: ListedRecord): string => (isPage(record) ? record.page.browser : record.terminal.name);

const toLogin = (record: ListedRecord): Login => ({
  loginId: loginIdOf(record),
  name: record.name,
  browser: deviceOf(record),
  createdAt: record.createdAt,
  expiresAt: record.expiresAt,
});

/** Returns a browser's login that starts now, and its secret, which is not stored. */
function newLogin(tx: Tx, name: string, expiresAt: string, page: Omit<LoginPage, 'loginId'>) {
  const secret = newSecret();
  const record: PageRecord = {
    secretHash: hash(secret),
    kind: 'session',
    name,
    createdAt: tx.now,
    expiresAt,
    page: { loginId: tx.newId(), ...page },
    terminal: null,
  };
  return { secret, record };
}

const newCode = (code: string, name: string, createdAt: string, expiresAt: string): LoginRecord => ({
  secretHash: hash(code),
  kind: 'code',
  name,
  createdAt,
  expiresAt,
  page: null,
  terminal: null,
});

function forgetExpired(logins: Map<string, ListedRecord>, livedUntil: string): void {
  for (const [secretHash, { expiresAt }] of logins) if (expiresAt <= livedUntil) logins.delete(secretHash);
}

/** Returns the logins that are valid at an instant. */
const listOf = (records: readonly LoginRecord[], instant: string): Login[] =>
  records
    .filter(isListed)
    .filter((one) => one.expiresAt > instant)
    .map(toLogin);

function endLogin({ loginId, by }: { loginId: string; by: string }, { store, listed }: SavedLogins): Promise<Login> {
  return store.transact(async (tx) => {
    const found = await tx.logins.findById(loginId);
    if (!isListed(found) || !(await tx.logins.remove(found.secretHash))) {
      throw new Rejection('unknown_login', 'This login has already ended.');
    }
    tx.afterCommit(() => listed.delete(found.secretHash));
    await tx.emit({ type: 'login-ended', data: { loginId, by } });
    return toLogin(found);
  });
}

/** Stores a new token of a person, and resolves with it. @param name what the list of logins calls it */
async function addToken(
  kind: 'token' | 'metrics',
  { person, name, expiresAt }: { person: string; name: string; expiresAt: string },
  { store, listed }: SavedLogins,
): Promise<string> {
  const secret = newSecret();
  await store.transact(async (tx) => {
    const record: TerminalRecord = {
      secretHash: hash(secret),
      kind,
      name: person,
      createdAt: tx.now,
      expiresAt,
      page: null,
      terminal: { loginId: tx.newId(), name },
    };
    await tx.logins.save(record);
    await tx.emit({ type: 'login-created', data: toLogin(record) });
    tx.afterCommit(() => void listed.set(record.secretHash, record));
  });
  return secret;
}

export async function createLogins(deps: LoginsDeps): Promise<Logins> {
  const { store, platform, ownerName, tokenSha256, publicUrl, onCodeUsed } = deps;
  /**
   * The browsers and terminals that are logged in, by the hash of their secret. Mirrors the store:
   * updated right after each commit that changes logins, and by the events of other machines.
   */
  const listed = new Map<string, ListedRecord>(
    (await store.read.logins.list()).filter(isListed).map((record) => [record.secretHash, record]),
  );
  const saved = { store, listed };
  const lookUp = followLogins(saved, tokenSha256);
  const now = (): string => platform.now().toISOString();
  const expiry = (ms: number): string => new Date(platform.now().getTime() + ms).toISOString();
  const isGoodCode = (found: LoginRecord | null) =>
    found?.kind === 'code' && (found.expiresAt === null || found.expiresAt > now());

  async function useCode(tx: Tx, codeHash: string, page: Omit<LoginPage, 'loginId'>) {
    const found = await tx.logins.find(codeHash);
    if (found === null || !isGoodCode(found) || !(await tx.logins.remove(codeHash))) {
      throw new Rejection('bad_login_link', USED_LINK);
    }
    const { secret, record } = newLogin(tx, found.name, expiry(SESSION_MS), page);
    await tx.logins.save(record);
    const login = toLogin(record);
    await tx.emit({ type: 'login-created', data: login });
    tx.afterCommit(() => {
      listed.set(record.secretHash, record);
      onCodeUsed?.(codeHash);
    });
    return { secret, login };
  }

  async function issueCode(name: string, ms: number): Promise<{ code: string; expiresAt: string }> {
    const code = newSecret();
    const expiresAt = expiry(ms);
    await store.transact(async (tx) => {
      // Not by the time of day: a wrong clock only refuses a login; once the clock is right, the login is valid again.
      const livedUntil = await tx.clock.livedUntil();
      if (livedUntil !== null) {
        await tx.logins.removeExpired(livedUntil);
        tx.afterCommit(() => forgetExpired(listed, livedUntil));
      }
      await tx.logins.save(newCode(code, name, tx.now, expiresAt));
    });
    return { code, expiresAt };
  }

  return {
    createTerminal: (name) => addToken('token', { person: ownerName, name, expiresAt: expiry(SESSION_MS) }, saved),
    createMetricsToken: (by) =>
      addToken('metrics', { person: by, name: 'Metrics', expiresAt: expiry(METRICS_MS) }, saved),
    async requireMetricsToken(token) {
      const found = await lookUp(hash(token));
      if (found?.kind !== 'metrics' || found.expiresAt <= now()) throw new Rejection('not_logged_in', NO_METRICS_TOKEN);
    },
    createCode: async () => (await issueCode(ownerName, CODE_MS)).code,
    invite: async (name) => ({ ...(await issueCode(name, INVITATION_MS)), publicUrl }),
    async redeem({ code, key, origin, browser }) {
      requirePageKey(key);
      const codeHash = hash(code);
      // Outside of the transaction, so that guessing codes does not block the store.
      if (!isGoodCode(await store.read.logins.find(codeHash))) throw new Rejection('bad_login_link', USED_LINK);
      return store.transact((tx) => useCode(tx, codeHash, { key, origin, browser }));
    },
    check({ kind, secret }) {
      const secretHash = hash(secret);
      if (kind === 'token' && secretHash === tokenSha256) return { actor: { name: 'API token' }, loginId: null, kind };
      const found = listed.get(secretHash);
      // The secret of a cookie is no token, and a token is no cookie.
      const isKnown = found?.kind === (kind === 'page' ? 'session' : 'token') && found.expiresAt > now();
      if (!isKnown) throw new Rejection('not_logged_in', NOT_LOGGED_IN);
      return { actor: { name: found.name }, loginId: loginIdOf(found), device: deviceOf(found), kind };
    },
    lookUp: async ({ secret }) => void (await lookUp(hash(secret))),
    async prove(loginId, { origin, nonce, signature }) {
      const found = loginId === null ? null : await store.read.logins.findById(loginId);
      const good = isPage(found) && found.page.origin === origin && isProof(found.page.key, origin, nonce, signature);
      if (!good) throw new Rejection('page_not_known', PAGE_NOT_KNOWN);
    },
    list: async () => listOf(await store.read.logins.list(), now()),
    end: (loginId, by) => endLogin({ loginId, by }, saved),
  };
}

export type PageRecord = LoginRecord & { page: LoginPage; expiresAt: string };
export type TerminalRecord = LoginRecord & { terminal: LoginTerminal; expiresAt: string };
/** A login that a person sees in the list, and may end. */
export type ListedRecord = PageRecord | TerminalRecord;

/** Whether this is a browser's login. A cookie without a key is not a login. */
const isPage = (record: LoginRecord | null): record is PageRecord =>
  record?.kind === 'session' && record.page !== null && record.expiresAt !== null;

const isTerminal = (record: LoginRecord | null): record is TerminalRecord =>
  (record?.kind === 'token' || record?.kind === 'metrics') && record.terminal !== null && record.expiresAt !== null;

const isListed = (record: LoginRecord | null): record is ListedRecord => isPage(record) || isTerminal(record);

const loginIdOf = (record: ListedRecord): string => (isPage(record) ? record.page : record.terminal).loginId;

/** The logins of a store, and those in memory by the hash of their secret. */
export interface SavedLogins {
  store: Store;
  listed: Map<string, ListedRecord>;
}

/**
 * Follows logins that other machines make and end. Returns a function that takes a login from the store, unless one was ended
 * while it was read: what was read may be older than that. It resolves with the login, if it is one that people see listed.
 */
function followLogins({ store, listed }: SavedLogins, tokenSha256: string | null) {
  let ended = 0;
  const has = (loginId: string) => listed.values().some((record) => loginIdOf(record) === loginId);

  async function take(read: () => Promise<LoginRecord | null>): Promise<void> {
    for (;;) {
      const before = ended;
      const found = await read();
      if (ended !== before) continue;
      if (isListed(found)) listed.set(found.secretHash, found);
      return;
    }
  }

  store.onEvent(({ type, data }) => {
    if (type === 'login-created' && !has(data.loginId))
      take(() => store.read.logins.findById(data.loginId)).catch(() => undefined); // its first command reads it again
    if (type !== 'login-ended') return;
    ended += 1;
    for (const [secretHash, record] of listed) if (loginIdOf(record) === data.loginId) listed.delete(secretHash);
  });
  // Logins may have ended unheard: each is read again when it is used next.
  store.onEpoch(() => {
    ended += 1;
    listed.clear();
  });
  return async (secretHash: string): Promise<ListedRecord | undefined> => {
    if (secretHash !== tokenSha256 && !listed.has(secretHash)) await take(() => store.read.logins.find(secretHash));
    return listed.get(secretHash);
  };
}

const publicKey = (key: PageKey) => createPublicKey({ key: { ...key }, format: 'jwk' });

/** @throws Rejection `bad_request` if the key is not a point on the curve: nobody could ever prove such a login */
function requirePageKey(key: PageKey): void {
  try {
    publicKey(key);
  } catch {
    throw new Rejection('bad_request', 'key: is not a public key on the curve P-256.');
  }
}

/** Whether the private half of this key has signed the nonce for a page of this origin. */
function isProof(key: PageKey, origin: string, nonce: string, signature: string): boolean {
  const signed = Buffer.from(proofText(origin, nonce));
  const given = Buffer.from(signature, 'base64url');
  return verify('sha256', signed, { key: publicKey(key), dsaEncoding: 'ieee-p1363' }, given);
}
