import { z } from 'zod';

/**
 * What may be at risk in a request, the gravest first: lists of stakes are in this order. `unknown` is code whose effects nobody can
 * tell; `writes` are changes within the worktree.
 */
export const RiskCode = z.enum([
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
export type RiskCode = z.infer<typeof RiskCode>;

/** One thing that is known to be at risk in a request. */
export const Risk = z.object({
  code: RiskCode,
  /** A sentence: "Deletes dist." */
  text: z.string(),
  /** The part of the command that it is about, to be shown where there is room for one line; null if it is the whole call. */
  command: z.string().nullable().default(null),
});
export type Risk = z.infer<typeof Risk>;

/** Each stake in a word or two, for places without room for a sentence. */
export const RISK_TEXTS: Readonly<Record<RiskCode, string>> = {
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
