import { z } from 'zod';
import { Actor, Login, PageKey } from './logins.ts';

const nothing = z.object({});

/** The commands about who may use Callboard. */
export const loginCommands = {
  /** Lists the logins. `current`: the login that sent the command; null for an API token. */
  get_logins: {
    time: 'read',
    input: nothing,
    reply: z.object({ logins: z.array(Login), current: z.string().nullable() }),
  },
  /** Ends a login. Takes effect at once, for commands and for open event streams. */
  remove_login: { input: z.object({ loginId: z.string() }), reply: z.object({ login: Login }) },
  /** Makes a token that reads `GET /metrics` and can do nothing else. It is shown this once, listed among the logins, and revoked there. */
  create_metrics_token: { input: nothing, reply: z.object({ token: z.string() }) },
  /**
   * Makes a one-time code that lets one more browser in. Only a page may, no API token (`page_only`). `publicUrl`: the origin
   * for the link; null for that of the page.
   */
  create_login_code: {
    input: nothing,
    reply: z.object({ code: z.string(), expiresAt: z.iso.datetime(), publicUrl: z.url().nullable() }),
  },
  /**
   * Exchanges a one-time login code for a login of the browser that holds `key`, valid only under `origin`. Refuses a used
   * or unknown code with `bad_login_link`. `secret` goes into the cookie; only its hash is stored.
   */
  auth_redeem: {
    input: z.object({ code: z.string(), key: PageKey, origin: z.string(), browser: z.string().max(100) }),
    reply: z.object({ secret: z.string(), login: Login }),
  },
  /** Checks that the page that sends the command holds the key of its login; `page_not_known` if not. */
  auth_prove: {
    time: 'read',
    input: z.object({ origin: z.string(), nonce: z.string(), signature: z.string() }),
    reply: z.object({ loginId: z.string() }),
  },
  /** Returns whose credential the command carries. `loginId` is null for an API token. */
  auth_check: { time: 'read', input: nothing, reply: z.object({ actor: Actor, loginId: z.string().nullable() }) },
  /** Ends the login that sends the command. */
  auth_logout: { input: nothing, reply: nothing },
} as const;
