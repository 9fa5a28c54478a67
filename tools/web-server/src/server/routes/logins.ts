import type { Relays } from './relay.ts';

/** The browsers that are logged in. */
export const loginRelays = {
  get_logins: {
    summary: 'List the browsers and terminals that are logged in',
    description: '`current` is the login of this request; null for an API token.',
  },
  remove_login: {
    summary: 'Revoke a login',
    description: 'Takes effect at once: its requests are refused, and its event streams end.',
    problems: ['unknown_login'],
  },
  create_metrics_token: {
    summary: 'Make a token for monitoring',
    description:
      'The token reads `GET /metrics` (Prometheus) and can do nothing else. It is returned this once, is listed among the logins as "Metrics", and is revoked there. An API token cannot make one.',
    status: 201,
    problems: ['page_only'],
  },
  create_login_code: {
    summary: 'Make a login link for one more browser',
    description:
      'The link is `/login?code=` with this code, under `publicUrl`, or the address of the page if that is null. It works once, for an hour. An API token cannot make one. Every open board shows the new login.',
    problems: ['page_only'],
  },
} satisfies Relays;
