import {
  type BoardView,
  boardView,
  CLAUDE_UNCHECKED,
  NO_LIMITS,
  SANDBOX_UNTRIED,
  type StageView,
} from '@callboard/contract';
import { AT, sampleProject, sampleSession, sampleStage } from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { boardNotices, queuedText, unstartedText } from './waiting-text.ts';

const pause = { scope: {}, by: 'Ada', at: AT, except: [] };
const spentBudget = { scope: { day: true }, unit: 'usd', spent: 1.654, limit: 0.9 } as const;
const limitWait = { since: AT, window: 'five_hour', resetsAt: null, goesOnAt: null };
const alarm = { code: 'foreign-message', detail: 'x', at: AT };
const terminal = { by: 'Ada', since: AT };

const view = (fields: Partial<BoardView> = {}): BoardView =>
  boardView({
    seq: 1,
    projects: [sampleProject()],
    stages: [],
    pending: [],
    unsettled: [],
    warnings: [],
    startHolds: [],
    budgets: [],
    limits: NO_LIMITS,
    holds: [],
    paused: null,
    sandbox: SANDBOX_UNTRIED,
    claude: CLAUDE_UNCHECKED,
    ...fields,
  });

/** As the board has it: with its column. */
function stageOf(session: Record<string, unknown> | null): StageView {
  const own = { ...sampleStage(), session: session === null ? null : sampleSession({ state: 'idle', ...session }) };
  const [stage] = view({ stages: [own as StageView] }).stages;
  if (stage === undefined) throw new Error('the board lost its stage');
  return stage;
}

it.each([
  ['a running turn', { state: 'busy' }, {}, 'Queued: Claude gets it after this turn.'],
  ['a hold', { state: 'busy' }, { holds: [pause] }, 'the stage is on hold. Claude gets it once somebody releases'],
  [
    'a spent budget',
    { spentBudget },
    {},
    'the budget of today is spent ($1.65 of $0.90). Claude gets it once somebody',
  ],
  ['a budget that is spent while Claude works', { state: 'busy', spentBudget }, {}, 'after this turn'],
  ['a usage limit', { limitWait }, {}, 'Queued: usage limit.'],
  ['a failed turn', { queueHeld: true }, {}, 'the queue is paused because the last turn did not succeed'],
  ['a terminal', { terminal }, {}, 'once the stage is taken back from the terminal'],
  ['an alarm', { alarm }, {}, 'a security alarm is open'],
  ['a full disk', {}, { paused: 'The disk is nearly full.' }, 'Queued: The disk is nearly full.'],
  ['other sessions', {}, {}, 'as soon as its session can run'],
] as const)('says that a message waits for the end of %s', (_, session, board, text) => {
  expect(queuedText(stageOf(session), view(board as Partial<BoardView>))).toContain(text);
});

it('says what a stage that was not started waits for', () => {
  const stage = { ...stageOf(null), autoStart: true };
  const memory = { code: 'memory', reason: 'Waits for memory', until: null, stageIds: [stage.id] } as const;
  expect(unstartedText(stage, view({ startHolds: [{ ...memory, stageIds: [...memory.stageIds] }] }))).toBe(
    'starts automatically (Waits for memory)',
  );
  expect(unstartedText(stage, view())).toBe('starts automatically');
  expect(unstartedText(stage, view({ holds: [pause] }))).toBe('on hold');
  expect(unstartedText({ ...stage, autoStart: false }, view())).toBe('');
});

it('says what is on hold and which budgets are spent, or nearly so, beyond a single stage', () => {
  const budget = (scope: BoardView['budgets'][number]['scope'], usd: number) => ({
    scope,
    usd: 1,
    tokens: null,
    spent: { usd, tokens: 0 },
  });
  const { id } = sampleProject();
  const notices = boardNotices(
    view({
      holds: [pause, { ...pause, scope: { projectId: id } }],
      budgets: [budget({ day: true }, 1.2), budget({ projectId: id }, 0.8), budget({}, 0.7)],
    }),
  );
  expect(notices).toEqual([
    expect.stringMatching(/^everything has been on hold since 2026-01-0\d \d\d:\d\d \(by Ada\)\.$/),
    expect.stringMatching(/^Shop has been on hold since /),
    'the budget of today is spent: $1.20 of $1.00.',
    'the budget of Shop is nearly spent: $0.80 of $1.00.',
  ]);
});
