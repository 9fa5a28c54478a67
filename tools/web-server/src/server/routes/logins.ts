import type { Relays } from './relay.ts';

/** The browsers that are logged in. */
export const loginRelays = {
  get_logins: {
    summary: 'The browsers that are logged in',
    description: '`current` is the login that asks; null for an API token.',
  },
  remove_login: {
    summary: 'Revokes a login',
    description: 'At once: nothing more is taken from it, and its event streams end.',
    problems: ['unknown_login'],
  },
} satisfies Relays;
