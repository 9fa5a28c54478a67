import { z } from 'zod';

/**
 * What may be at stake in a request, the gravest first: lists of stakes are in this order. `unknown` is code whose effects nobody can
 * tell; `writes` are changes within the worktree.
 */
export const StakeCode = z.enum([
  'schedules',
  'credentials',
  'privileges',
  'git-remote',
  'git-history',
  'deletes',
  'outside',
  'installs',
  'network',
  'processes',
  'unknown',
  'writes',
]);
export type StakeCode = z.infer<typeof StakeCode>;

/** One thing that is known to be at stake in a request. */
export const Stake = z.object({
  code: StakeCode,
  /** A sentence: "Deletes dist." */
  text: z.string(),
  /** The part of the command that it is about, to be shown where there is room for one line; null if it is the whole call. */
  command: z.string().nullable().default(null),
});
export type Stake = z.infer<typeof Stake>;

/** Each stake in a word or two, for places without room for a sentence. */
export const STAKE_WORDS: Readonly<Record<StakeCode, string>> = {
  schedules: 'schedules',
  credentials: 'credentials',
  privileges: 'administrator',
  'git-remote': 'git remote',
  'git-history': 'git history',
  deletes: 'deletes',
  outside: 'outside',
  installs: 'installs',
  network: 'network',
  processes: 'processes',
  unknown: 'runs code',
  writes: 'writes',
};
