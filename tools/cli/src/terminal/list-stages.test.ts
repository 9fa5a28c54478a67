import {
  type BoardView,
  boardView,
  CLAUDE_UNCHECKED,
  MachineId,
  NO_LIMITS,
  SANDBOX_UNTRIED,
} from '@callboard/contract';
import {
  AT,
  sampleMachine,
  sampleProject,
  sampleRequest,
  sampleSession,
  sampleStage,
} from '@callboard/contract/samples';
import { expect, it } from 'vitest';
import { boardLines, withMachineNames } from './stages.ts';

const platform = { columns: () => 72, isTerminal: false, env: {}, now: () => new Date(Date.parse(AT) + 252_000) };
const lines = (view: BoardView, all = false) =>
  boardLines(view, { all, platform, hint: (text) => `callboard ${text}` }).join('\n');

const board = (stages: Parameters<typeof boardView>[0]['stages'], pending: BoardView['pending'] = []): BoardView =>
  boardView({
    seq: 1,
    projects: [sampleProject()],
    stages,
    pending,
    unsettled: [],
    warnings: [],
    startHolds: [],
    budgets: [],
    limits: NO_LIMITS,
    holds: [],
    paused: null,
    sandbox: SANDBOX_UNTRIED,
    claude: CLAUDE_UNCHECKED,
  });

it('says of a stage at a gate that its check failed, and otherwise that its phase finished', () => {
  const check = { checkId: '0198f3a2-7c1b-7d1e-9a53-5b8f0c2d4e62', command: 'npm test', attempts: 3, since: AT };
  const atGate = { state: 'idle', atGate: true, lastTurn: { outcome: 'succeeded', at: AT, message: null } };
  const gated = (id: string, found: object | null) => ({
    ...sampleStage({ id, title: id }),
    session: sampleSession({ stageId: id, ...atGate, check: found }),
  });
  const text = lines(
    board([
      gated('STAGE-1', { ...check, state: 'failed', failures: 3 }),
      gated('STAGE-2', { ...check, state: 'passed', failures: 0 }),
      gated('STAGE-3', null),
    ]),
  );
  expect(text).toMatch(/STAGE-1 .* Check failed 3 times$/m);
  expect(text).toMatch(/STAGE-2 .* phase finished$/m);
  expect(text).toMatch(/STAGE-3 .* phase finished$/m);
});

it('says when Claude wakes by itself', () => {
  const wakeUp = { id: 'w', what: 'Check the build' };
  const soon = new Date(platform.now().getTime() + 60_000);
  const session = { state: 'idle', lastTurn: { outcome: 'succeeded', at: AT, message: null } };
  const stage = (id: string, wakeUps: object[], fields: object = {}) => ({
    ...sampleStage({ id, title: id }),
    session: sampleSession({ stageId: id, ...session, ...fields, wakeUps }),
  });
  const text = lines(
    board([
      stage('STAGE-1', [{ ...wakeUp, at: soon.toISOString() }], { changes: { files: 1, additions: 3, deletions: 1 } }),
      stage('STAGE-2', [{ ...wakeUp, at: null }]),
      stage('STAGE-3', [{ ...wakeUp, at: soon.toISOString() }], { launchId: null }),
    ]),
  );
  expect(text).toMatch(/STAGE-1 .* \+3 −1, wakes at \d{4}-\d\d-\d\d \d\d:\d\d$/m);
  expect(text).toMatch(/STAGE-2 .* wakes repeatedly$/m);
  expect(text).not.toMatch(/STAGE-3 .*wakes/);
});

it('lists stages by column, what needs somebody first, each with what it does now', () => {
  const stage = (id: string, fields: Record<string, unknown> = {}, session: Record<string, unknown> | null = null) => ({
    ...sampleStage({ id, title: `Title of ${id}`, ...fields }),
    session: session === null ? null : sampleSession({ stageId: id, ...session }),
  });
  const tool = { kind: 'tool', toolUseId: 't', action: 'npm test\x1b[2J', isCommand: true, since: AT };
  const view = board(
    [
      stage('STAGE-1', {}, { state: 'waiting' }),
      stage('STAGE-2', {}, { now: tool }),
      stage('STAGE-3', { held: true }),
      stage('STAGE-4', { completedAt: AT }),
      stage('STAGE-5', { autoStart: true }),
      stage(
        'STAGE-6',
        {},
        {
          state: 'idle',
          lastTurn: { outcome: 'succeeded', at: AT, message: null },
          changes: { files: 1, additions: 3, deletions: 1 },
        },
      ),
      stage(
        'STAGE-7',
        {},
        { state: 'ended', lastTurn: { outcome: 'failed', at: AT, message: 'The model is\noverloaded' } },
      ),
    ],
    [sampleRequest({ input: { command: 'npm install left-pad && npm run build && npm test' } })],
  );
  expect(lines(view)).toMatchInlineSnapshot(`
    "Needs you 2
      STAGE-1  Title of STAGE-1   4 min  $ npm install left-pad && npm run…
      STAGE-7  Title of STAGE-7   4 min  The model is overloaded
    Running 1
      STAGE-2  Title of STAGE-2   4 min  $ npm test⟨\\x1b⟩[2J
    Review 1
      STAGE-6  Title of STAGE-6   4 min  +3 −1
    Ready 1
      STAGE-5  Title of STAGE-5   4 min  starts automatically
    Backlog 1
      STAGE-3  Title of STAGE-3   4 min  on hold
    Done 1
      STAGE-4  Title of STAGE-4   4 min  not merged"
  `);
});

it('shows the newest done stages, and all on request', () => {
  const done = Array.from({ length: 8 }, (_, index) => ({
    ...sampleStage({ id: `STAGE-${index}`, completedAt: `2026-01-02T03:04:0${index}.000Z` }),
    session: null,
  }));
  expect(lines(board(done))).toMatch(/^Done 8\n {2}STAGE-7.*and 3 more: callboard ls --all$/s);
  expect(lines(board(done), true).split('\n')).toHaveLength(9);
});

it('says how to begin when there is nothing', () => {
  expect(lines(board([]))).toBe('There are no stages yet. Create one: callboard start-stage --prompt "..."');
});

it('says when a stage goes on that stopped at a usage limit', () => {
  const at = '2026-01-02T05:00:00.000Z';
  const limitWait = { since: AT, window: 'five_hour', resetsAt: at, goesOnAt: at };
  const lastTurn = { outcome: 'failed', at: AT, message: 'Limit reached' };
  const session = sampleSession({ state: 'ended', lastTurn, limitWait });
  expect(lines(board([{ ...sampleStage(), session }]))).toMatch(/usage limit, goes on at 2026-01-0\d \d\d:\d\d$/);
});

it('says that a stage is on hold, or that its budget is spent', () => {
  const spentBudget = { scope: { day: true }, unit: 'usd', spent: 1.2, limit: 1 };
  const spent = sampleSession({ stageId: 'STAGE-1', state: 'idle', spentBudget });
  const waiting = { ...sampleStage({ id: 'STAGE-2' }), session: null };
  const view = board([{ ...sampleStage({ id: 'STAGE-1' }), session: spent }, waiting]);
  expect(lines(view)).toContain('budget spent: $1.20 of $1.00');
  expect(lines({ ...view, holds: [{ scope: {}, by: 'Ada', at: AT, except: [] }] })).toMatch(/STAGE-2 .* on hold$/);
});

it('names the machine of each stage where there is more than one', () => {
  const machineOf = (id: string, name: string) => ({ ...sampleMachine(), id: MachineId.parse(id), name });
  const tower = machineOf('01900000-0000-7000-8000-000000000001', 'tower');
  const laptop = machineOf('01900000-0000-7000-8000-000000000002', 'laptop');
  const stages = [
    { ...sampleStage({ id: 'STAGE-1', autoStart: true, machineId: tower.id }), session: null },
    { ...sampleStage({ id: 'STAGE-2', autoStart: true }), session: null },
  ];
  const view = { ...board(stages), machines: [tower, laptop] };
  expect(lines(view)).toMatch(/STAGE-1 {2}.* {2}tower {3,}\d.*\n {2}STAGE-2 {2}.*/);
  expect(withMachineNames(view).stages).toMatchObject([{ machineName: 'tower' }, { machineName: null }]);
  const alone = { ...view, machines: [tower] };
  expect(lines(alone)).not.toContain('tower');
  expect(withMachineNames(alone)).toEqual(alone);
});
