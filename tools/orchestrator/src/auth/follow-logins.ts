import type { LoginPage, LoginRecord, LoginTerminal } from '../store/login-records.ts';
import type { Store } from '../store/store.ts';

export type PageRecord = LoginRecord & { page: LoginPage; expiresAt: string };
export type TerminalRecord = LoginRecord & { terminal: LoginTerminal; expiresAt: string };
/** A login that a person sees in the list, and may end. */
export type ListedRecord = PageRecord | TerminalRecord;

/** Whether this is a browser's login. A cookie without a key is not a login. */
export const isPage = (record: LoginRecord | null): record is PageRecord =>
  record?.kind === 'session' && record.page !== null && record.expiresAt !== null;

const isTerminal = (record: LoginRecord | null): record is TerminalRecord =>
  (record?.kind === 'token' || record?.kind === 'metrics') && record.terminal !== null && record.expiresAt !== null;

export const isListed = (record: LoginRecord | null): record is ListedRecord => isPage(record) || isTerminal(record);

export const loginIdOf = (record: ListedRecord): string => (isPage(record) ? record.page : record.terminal).loginId;

/** The logins of a store, and those in memory by the hash of their secret. */
export interface SavedLogins {
  store: Store;
  listed: Map<string, ListedRecord>;
}

/**
 * Follows logins that other machines make and end. Returns a function that takes a login from the store, unless one was ended
 * while it was read: what was read may be older than that. It resolves with the login, if it is one that people see listed.
 */
export function followLogins({ store, listed }: SavedLogins, tokenSha256: string | null) {
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
