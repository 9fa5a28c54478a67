import type { PageKey } from '@callboard/contract';

export interface LoginRecord {
  secretHash: string;
  kind: 'code' | 'session' | 'token' | 'metrics';
  name: string;
  createdAt: string;
  expiresAt: string | null;
  /** Of a `session`: the browser that logged in; null for the others. */
  page: LoginPage | null;
  /** Of a `token`: the terminal that logged in. Of a token for `metrics`: its name. Null for the others. */
  terminal: LoginTerminal | null;
}

export interface LoginTerminal {
  loginId: string;
  /** In words. */
  name: string;
}

export interface LoginPage {
  loginId: string;
  key: PageKey;
  /** The only origin under which the login is valid. */
  origin: string;
  /** In words. */
  browser: string;
}
