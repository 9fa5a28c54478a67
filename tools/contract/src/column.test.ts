import { expect, it } from 'vitest';
import { AT, sampleSession, sampleStage } from '../test/samples.ts';
import { type Column, type ColumnFacts, column } from './stages.ts';

interface Facts {
  completed?: boolean;
  held?: boolean;
  dependsOn?: string[];
  done?: string[];
  pending?: number;
  unsettled?: number;
  state?: string;
  lastTurn?: 'succeeded' | 'failed' | 'interrupted';
  atGate?: boolean;
  alarm?: boolean;
  denied?: boolean;
  inTerminal?: boolean;
  /** Something waits for the release of the stage. */
  withheld?: boolean;
  /** It waits for a usage limit: by itself, or for a person. */
  atLimit?: 'by-itself' | 'kept';
  /** A command runs in the background. `asked`: for so long that a person is asked about it. */
  background?: 'waits' | 'asked' | 'keep-running';
}

const DENIED = { source: 'rule', detail: 'Bash(make *)', asked: 'Bash make', at: AT };
const ALARM = { code: 'foreign-answer', at: AT, detail: 'Somebody else answered.' };

const taskOf = (mark: string | null) => ({ taskId: 'b1', type: 'local_bash', description: 'Run the tests', mark });

function factsOf({
  completed = false,
  held,
  dependsOn,
  done = [],
  pending = 0,
  unsettled = 0,
  state,
  lastTurn,
  atGate,
  alarm = false,
  denied = false,
  inTerminal = false,
  withheld = false,
  atLimit,
  background,
}: Facts): ColumnFacts {
  const turn = lastTurn === undefined ? null : { outcome: lastTurn, at: AT, message: null };
  return {
    stage: sampleStage({ completedAt: completed ? AT : null, held: held ?? false, dependsOn: dependsOn ?? [] }),
    session:
      state === undefined
        ? null
        : sampleSession({
            state,
            lastTurn: turn,
            atGate: atGate ?? false,
            withheld,
            alarm: alarm ? ALARM : null,
            openDenial: denied ? DENIED : null,
            limitWait:
              atLimit === undefined
                ? null
                : { since: AT, window: null, resetsAt: AT, goesOnAt: atLimit === 'kept' ? null : AT },
            backgroundTasks:
              background === undefined ? [] : [taskOf(background === 'keep-running' ? background : null)],
            stalledSince: background === 'asked' ? AT : null,
            terminal: inTerminal ? { since: AT, by: 'Ada' } : null,
          }),
    pending,
    unsettled,
    isDone: (id) => done.includes(id),
  };
}

const table: [string, Facts, Column][] = [
  ['a completed stage', { completed: true }, 'done'],
  ['a completed stage, whatever else is true of it', { completed: true, pending: 1, state: 'failed' }, 'done'],
  ['an answer whose fate is unknown, though its session goes on', { unsettled: 1, state: 'busy' }, 'needs-you'],
  [
    'an answer whose fate is unknown, though the turn ended well',
    { unsettled: 1, state: 'idle', lastTurn: 'succeeded' },
    'needs-you',
  ],
  [
    'a turn whose last call Claude Code itself denied',
    { state: 'idle', lastTurn: 'succeeded', denied: true },
    'needs-you',
  ],
  ['the same, when its process has ended', { state: 'ended', lastTurn: 'succeeded', denied: true }, 'needs-you'],
  ['the same, while the next turn runs', { state: 'busy', lastTurn: 'succeeded', denied: true }, 'running'],
  ['the same, once it is completed', { completed: true, state: 'idle', lastTurn: 'succeeded', denied: true }, 'done'],
  ['a stage that was never started', {}, 'ready'],
  ['a stage that a person holds', { held: true }, 'backlog'],
  ['a stage that waits for another', { dependsOn: ['STAGE-2'] }, 'backlog'],
  [
    'a stage of whose dependencies one is not done',
    { dependsOn: ['STAGE-2', 'STAGE-3'], done: ['STAGE-2'] },
    'backlog',
  ],
  ['a stage whose dependencies are all done', { dependsOn: ['STAGE-2'], done: ['STAGE-2'] }, 'ready'],
  [
    'a held stage whose dependencies are all done',
    { held: true, dependsOn: ['STAGE-2'], done: ['STAGE-2'] },
    'backlog',
  ],
  ['a session that starts', { state: 'starting' }, 'running'],
  ['a session that works', { state: 'busy' }, 'running'],
  ['a session that works after a failed turn', { state: 'busy', lastTurn: 'failed' }, 'running'],
  [
    'a started stage on hold that has more to do',
    { state: 'idle', lastTurn: 'interrupted', withheld: true },
    'running',
  ],
  ['a started stage on hold that has a request', { state: 'ended', withheld: true, pending: 1 }, 'needs-you'],
  ['a started stage that is held or blocked', { state: 'busy', held: true, dependsOn: ['STAGE-2'] }, 'running'],
  ['a session with an open request', { state: 'waiting', pending: 1 }, 'needs-you'],
  ['an open request of which the session does not know yet', { state: 'busy', pending: 2 }, 'needs-you'],
  ['a session that is about to go on after an answer', { state: 'waiting' }, 'running'],
  ['a session that could not be started', { state: 'failed' }, 'needs-you'],
  ['an idle session after a good turn', { state: 'idle', lastTurn: 'succeeded' }, 'review'],
  ['a background command after a good turn', { state: 'idle', lastTurn: 'succeeded', background: 'waits' }, 'running'],
  ['one that a person is asked about', { state: 'idle', lastTurn: 'succeeded', background: 'asked' }, 'needs-you'],
  ['one that is to keep running', { state: 'idle', lastTurn: 'succeeded', background: 'keep-running' }, 'review'],
  ['one after a failed turn', { state: 'idle', lastTurn: 'failed', background: 'waits' }, 'needs-you'],
  ['an idle session after a failed turn', { state: 'idle', lastTurn: 'failed' }, 'needs-you'],
  ['an idle session after an interrupted turn', { state: 'idle', lastTurn: 'interrupted' }, 'needs-you'],
  ['an idle session that has not had a turn', { state: 'idle' }, 'needs-you'],
  [
    'an idle session whose next phase a person has to let begin',
    { state: 'idle', lastTurn: 'succeeded', atGate: true },
    'needs-you',
  ],
  [
    'an ended session whose next phase a person has to let begin',
    { state: 'ended', lastTurn: 'succeeded', atGate: true },
    'needs-you',
  ],
  ['an ended session after a good turn', { state: 'ended', lastTurn: 'succeeded' }, 'review'],
  ['an ended session after a failed turn', { state: 'ended', lastTurn: 'failed' }, 'needs-you'],
  ['an ended session that was cut off', { state: 'ended', lastTurn: 'interrupted' }, 'needs-you'],
  ['an ended session that has not had a turn', { state: 'ended' }, 'needs-you'],
  ['a usage limit, going on by itself', { state: 'idle', lastTurn: 'failed', atLimit: 'by-itself' }, 'running'],
  ['that without a process', { state: 'ended', lastTurn: 'failed', atLimit: 'by-itself' }, 'running'],
  ['a usage limit that waits for a person', { state: 'idle', lastTurn: 'failed', atLimit: 'kept' }, 'needs-you'],
  ['a conversation in a terminal', { state: 'ended', lastTurn: 'succeeded', inTerminal: true }, 'running'],
  ['the same after an interrupted turn', { state: 'ended', lastTurn: 'interrupted', inTerminal: true }, 'running'],
  ['the same under alarm', { state: 'ended', alarm: true, inTerminal: true }, 'needs-you'],
  ['a session under alarm, while its process is being stopped', { state: 'busy', alarm: true }, 'needs-you'],
  ['a session under alarm after a good turn', { state: 'ended', lastTurn: 'succeeded', alarm: true }, 'needs-you'],
  ['a completed stage whose session is under alarm', { completed: true, alarm: true, state: 'ended' }, 'done'],
];

it.each(table)('puts %s where it belongs: %o in %s', (_what, facts, expected) => {
  expect(column(factsOf(facts))).toBe(expected);
});
