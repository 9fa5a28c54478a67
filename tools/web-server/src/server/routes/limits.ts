import type { Relays } from './relay.ts';

/** The usage limits of the account. */
export const limitRelays = {
  get_limits: {
    summary: 'Get the usage limits of the Claude account',
    description:
      'As a session last reported them, with what Callboard does at one. `limits` is null with an API key, which has none, and until a session has reported some. A window counts until its `resetsAt`.',
  },
  update_limits: {
    summary: 'Change what happens at a usage limit',
    description: 'Holds for stages that wait already, unless a stage says otherwise (`goesOnAtReset`).',
  },
} satisfies Relays;

/** Stages that wait for one. */
export const goOnRelays = {
  go_on: {
    summary: 'Decide when a stage that stopped at a usage limit goes on',
    description:
      '`now` tells Claude to continue at once, whether or not the limit has reset. `at-reset` lets the stage go on by itself; `never` keeps it for a person.',
    problems: [
      ...(['unknown_stage', 'no_session', 'not_at_limit', 'reset_unknown', 'already_done'] as const),
      ...(['session_alarm', 'in_terminal', 'cannot_go_back', 'disk_low'] as const),
    ],
  },
} satisfies Relays;
