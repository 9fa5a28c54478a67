import type { StageView, TurnOutcome } from '@callboard/contract';

/** What kept Claude from being started in the worktree of a stage. */
export type BeforeStart = Exclude<NonNullable<TurnOutcome['code']>, 'not-logged-in' | 'usage-limit'>;

/** Null if nothing did, or the stage has gone on since. The stage's page then has a panel with what can be done. */
export function beforeStart({ session, completedAt }: StageView): BeforeStart | null {
  const code = session?.state === 'failed' && completedAt === null ? session.lastTurn?.code : null;
  return code == null || code === 'not-logged-in' || code === 'usage-limit' ? null : code;
}

/** A few words on each, for a row of the board. */
export const BEFORE_START_TEXTS: Readonly<Record<BeforeStart, { text: string; tone: 'fail' | 'needs' }>> = {
  'setup-failed': { text: 'its worktree could not be set up', tone: 'fail' },
  'fetch-failed': { text: 'nothing could be fetched', tone: 'fail' },
  'settings-invalid': { text: 'callboard.yaml cannot be used', tone: 'fail' },
  'worktree-replaced': { text: 'worktree not in its place', tone: 'fail' },
  'settings-not-agreed': { text: 'callboard.yaml waits for your agreement', tone: 'needs' },
};
