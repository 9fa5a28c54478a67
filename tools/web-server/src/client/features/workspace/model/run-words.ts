import type { CommandIsolation, StageView, WorktreeCommand } from '@callboard/contract';
import { type BeforeStart, beforeStart } from '../../../lib/before-start.ts';

/** How a run stands, in words. `tone` selects the colour. */
export interface RunText {
  text: string;
  tone: 'plain' | 'fail';
}

export function runText({ state, kind, reason }: Pick<WorktreeCommand, 'state' | 'kind' | 'reason'>): RunText {
  switch (state) {
    case 'running':
      return { text: 'Running', tone: 'plain' };
    case 'passed':
      return { text: kind === 'server' ? 'Ended by itself' : 'Done', tone: 'plain' };
    case 'failed':
      return { text: reason ?? 'Failed', tone: 'fail' };
    case 'timed-out':
      return { text: reason ?? 'Took too long', tone: 'fail' };
    case 'stopped':
    case 'interrupted':
      return { text: reason ?? 'Stopped', tone: 'plain' };
    default:
      return state satisfies never;
  }
}

/** Where a run has, or had, its place. */
export const isolationText = ({ level, reason }: CommandIsolation): string =>
  level === 'sandbox' ? 'In Callboard’s sandbox.' : `Outside the sandbox. ${reason ?? ''}`.trim();

/** What keeps Claude from being started in a stage's worktree, or is under way before that. */
export type SetUpState = 'running' | 'failed' | 'no-fetch' | 'bad-file' | 'not-agreed' | 'replaced';

/** @param setUp the newest run of its set-up; null if there is none */
export function setUpState(stage: StageView, setUp: Pick<WorktreeCommand, 'state'> | null): SetUpState | null {
  const { session } = stage;
  if (session === null || stage.completedAt !== null) return null;
  if (session.state === 'starting') return setUp?.state === 'running' ? 'running' : null;
  const cause = beforeStart(stage);
  return cause === null ? null : CAUSES[cause];
}

const CAUSES: Readonly<Record<BeforeStart, SetUpState>> = {
  'setup-failed': 'failed',
  'fetch-failed': 'no-fetch',
  'settings-invalid': 'bad-file',
  'settings-not-agreed': 'not-agreed',
  'worktree-replaced': 'replaced',
};

/** The heading of each state, and what it means for the stage. */
export const SET_UP_TEXTS: Readonly<Record<SetUpState, { title: string; text: string }>> = {
  running: { title: 'Setting up the worktree', text: 'Claude starts when this is done.' },
  failed: { title: 'The worktree could not be set up', text: 'Claude was not started. Its first message is kept.' },
  'no-fetch': { title: 'Nothing could be fetched', text: 'Claude was not started. Its first message is kept.' },
  'bad-file': { title: 'callboard.yaml cannot be used', text: 'Claude was not started. Its first message is kept.' },
  replaced: {
    title: 'The worktree is not in its place',
    text: 'Claude was not started. Its first message is kept.',
  },
  'not-agreed': {
    title: 'callboard.yaml waits for your agreement',
    text: 'It names a set-up that nobody has agreed to yet, so none of it was run. Claude was not started.',
  },
};

/** The address of a dev server, on the host that the page came from. */
export const serverAddress = (port: number, host: string): string =>
  `http://${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}:${port}/`;
