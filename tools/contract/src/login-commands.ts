import { z } from 'zod';
import type { CommandDefinitions, DocsOf } from './command.ts';
import * as the from './examples.ts';
import { Actor, Login, PageKey, Pairing } from './logins.ts';

const nothing = z.object({});

/** The commands about who may use Callboard. */
export const loginCommands = {
  /** Lists the logins. `current`: the login that sent the command; null for an API token. */
  get_logins: {
    route: 'GET /api/logins',
    runs: 'store',
    time: 'read',
    input: nothing,
    reply: z.object({ logins: z.array(Login), current: z.string().nullable() }),
  },
  /** Ends a login. Takes effect at once, for commands and for open event streams. */
  remove_login: {
    route: 'DELETE /api/logins/:loginId',
    runs: 'store',
    input: z.object({ loginId: z.string() }),
    reply: z.object({ login: Login }),
  },
  /** Makes a token that reads `GET /metrics` and can do nothing else. It is shown this once, listed among the logins, and revoked there. */
  create_metrics_token: {
    route: 'POST /api/logins/metrics',
    runs: 'store',
    input: nothing,
    reply: z.object({ token: z.string() }),
    status: 201,
  },
  /**
   * Makes a one-time code that lets one more browser in. Only a page may, no API token (`page_only`). `publicUrl`: the origin
   * for the link; null for that of the page. `pairing`: what could lead other devices here; null if there is a public URL.
   */
  create_login_code: {
    route: 'POST /api/logins/code',
    runs: 'store',
    input: nothing,
    reply: z.object({
      code: z.string(),
      expiresAt: z.iso.datetime(),
      publicUrl: z.url().nullable(),
      pairing: Pairing.nullable(),
    }),
  },
  /**
   * Exchanges a one-time login code for a login of the browser that holds `key`, valid only under `origin`. Refuses a used
   * or unknown code with `bad_login_link`. `secret` goes into the cookie; only its hash is stored.
   */
  auth_redeem: {
    runs: 'store',
    input: z.object({ code: z.string(), key: PageKey, origin: z.string(), browser: z.string().max(100) }),
    reply: z.object({ secret: z.string(), login: Login }),
  },
  /** Checks that the page that sends the command holds the key of its login; `page_not_known` if not. */
  auth_prove: {
    runs: 'store',
    time: 'read',
    input: z.object({ origin: z.string(), nonce: z.string(), signature: z.string() }),
    reply: z.object({ loginId: z.string() }),
  },
  /** Returns whose credential the command carries. `loginId` is null for an API token. */
  auth_check: {
    runs: 'store',
    time: 'read',
    input: nothing,
    reply: z.object({ actor: Actor, loginId: z.string().nullable() }),
  },
  /** Ends the login that sends the command. */
  auth_logout: { runs: 'store', input: nothing, reply: nothing },
} as const satisfies CommandDefinitions;

/** What the API's document says of them. */
export const loginDocs = (): DocsOf<typeof loginCommands> => ({
  get_logins: {
    tag: 'service',
    summary: 'List the browsers and terminals that are logged in',
    description: '`current` is the login of this request; null for an API token.',
    example: { input: {}, reply: { logins: [the.login], current: the.login.loginId } },
  },
  remove_login: {
    tag: 'service',
    summary: 'Revoke a login',
    description: 'Takes effect at once: its requests are refused, and its event streams end.',
    problems: ['unknown_login'],
    example: { input: { loginId: the.login.loginId }, reply: { login: the.login } },
  },
  create_metrics_token: {
    tag: 'service',
    summary: 'Make a token for monitoring',
    description:
      'The token reads `GET /metrics` (Prometheus) and can do nothing else. It is returned this once, is listed among the logins as "Metrics", and is revoked there. An API token cannot make one.',
    problems: ['page_only'],
    example: { input: {}, reply: { token: 'the-token-for-metrics' } },
  },
  create_login_code: {
    tag: 'service',
    summary: 'Make a login link for one more browser',
    description:
      'The link is `/login?code=` with this code, under `publicUrl`, or the address of the page if that is null. It works once, for an hour. An API token cannot make one. Every open board shows the new login. `pairing` says what could lead other devices here, if Callboard has no public URL.',
    problems: ['page_only'],
    example: {
      input: {},
      reply: {
        code: 'one-time-code',
        expiresAt: the.login.expiresAt,
        publicUrl: null,
        pairing: { sshTarget: 'ada@desk', startCommand: 'npx callboard start', tailscale: null },
      },
    },
  },
});
