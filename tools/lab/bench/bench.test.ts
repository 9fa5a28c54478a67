import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { percentile } from './measure.ts';
import { noiseOf } from './noise.ts';
import { comparisonTable, type Figure, goalsTable, isMet, parseFigures, regressionsTable } from './results.ts';
import { createCpuAccount } from './turn/cpu.ts';
import { childrenTable } from './turn/figures.ts';
import { type Mark, stepsTable, timesIn, timesOut, writtenOf } from './turn/steps.ts';

const figure = (fields: Partial<Figure>): Figure => ({ name: 'turn', value: 10, unit: 'ms', ...fields });

describe('percentile', () => {
  it('is the smallest value that the share of all values does not exceed', () => {
    const values = Array.from({ length: 100 }, (_, index) => 100 - index); // 100 down to 1
    expect([0.5, 0.95, 0.99, 1].map((share) => percentile(values, share))).toEqual([50, 95, 99, 100]);
    expect(percentile([3, 1, 2], 0.5)).toBe(2);
    expect(percentile([4], 0.99)).toBe(4);
    expect(percentile([], 0.5)).toBeNaN();
  });
});

describe('goals', () => {
  it('are met at the goal itself, and not beyond it', () => {
    expect(isMet(figure({ atMost: 10 }))).toBe(true);
    expect(isMet(figure({ atMost: 9.99 }))).toBe(false);
    expect(isMet(figure({ atLeast: 10 }))).toBe(true);
    expect(isMet(figure({ atLeast: 11 }))).toBe(false);
    expect(isMet(figure({ value: Number.NaN, atMost: 1 }))).toBe(false);
    expect(isMet(figure({}))).toBeNull();
  });

  it('stand in the table, figures without one do not', () => {
    const turn = [
      figure({ name: 'p50', value: 1.32, unit: 'x', atMost: 1.05, baseline: 'relay 100.0 ms' }),
      figure({ name: 'mean' }),
    ];
    const replay = [figure({ name: 'events', value: 61_234.5, unit: '/s', atLeast: 50_000 })];
    expect(goalsTable({ turn, replay })).toEqual({
      'turn: p50': { measured: '1.32x', goal: 'at most 1.05', baseline: 'relay 100.0 ms', met: 'NO' },
      'replay: events': { measured: '61235/s', goal: 'at least 50000', baseline: '', met: 'yes' },
    });
  });
});

it('two runs are compared by what both have measured', () => {
  const before = { turn: [figure({ name: 'p50', value: 200 }), figure({ name: 'dropped' })] };
  const after = { turn: [figure({ name: 'p50', value: 150 }), figure({ name: 'new' })], start: [figure({})] };
  expect(comparisonTable(before, after)).toEqual({
    'turn: p50': { before: '200.0 ms', after: '150.0 ms', ratio: '0.75' },
  });
});

describe('the noise of a figure', () => {
  const meanOf = (values: readonly number[]) => (rounds: readonly number[]) =>
    rounds.reduce((sum, at) => sum + (values[at] ?? Number.NaN), 0) / rounds.length;
  const noiseOfMean = (values: readonly number[]) => noiseOf(values.length, meanOf(values));
  /** Values around 100 that do not depend on each other; the same in every run. */
  const values = (count: number, spread: number) =>
    Array.from({ length: count }, (_, n) => {
      const share = createHash('sha256').update(String(n)).digest().readUInt32BE() / 2 ** 32;
      return 100 + spread * (2 * share - 1);
    });

  it('is that of a mean: the deviation of one round over the root of their number', () => {
    const expected = 10 / Math.sqrt(3) / Math.sqrt(400); // values equally likely between 90 and 110
    expect(noiseOfMean(values(400, 10)) / expected).toBeGreaterThan(0.7);
    expect(noiseOfMean(values(400, 10)) / expected).toBeLessThan(1.3);
    expect(noiseOfMean(values(101, 20)) / noiseOfMean(values(101, 10))).toBeCloseTo(2, 6);
    expect(noiseOfMean(values(60, 0))).toBe(0);
  });

  it('is larger if slow rounds come in a row, as when another program was at work', () => {
    const inTurn = Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? 100 : 120));
    const inARow = Array.from({ length: 60 }, (_, n) => (n < 30 ? 100 : 120));
    expect(noiseOfMean(inARow)).toBeGreaterThan(2 * noiseOfMean(inTurn));
  });
});

describe('a figure is worse than recorded', () => {
  const recordedAs = (...figures: Figure[]) => ({
    turn: { at: '2026-11-28T12:00:00.000Z', commit: 'abc', load: 0.1, figures },
  });
  const recorded = recordedAs(figure({ name: 'p50', value: 1, unit: 'x', noise: 0.03 }));
  const isWorse = (value: number, noise: number) =>
    Object.keys(regressionsTable(recorded, { turn: [figure({ name: 'p50', value, unit: 'x', noise })] })).length > 0;

  it('if it grew by more than three standard errors of both runs', () => {
    expect(isWorse(1.14, 0.04)).toBe(false); // 3 * hypot(0.03, 0.04) = 0.15
    expect(isWorse(1.16, 0.04)).toBe(true);
    expect(isWorse(0.5, 0.04)).toBe(false);
  });

  it('only if both runs measured it with its noise', () => {
    expect(regressionsTable(recorded, { turn: [figure({ name: 'p50', value: 9, unit: 'x' })] })).toEqual({});
    expect(regressionsTable(recorded, { turn: [figure({ name: 'new', value: 9, noise: 0.1 })] })).toEqual({});
    expect(regressionsTable(recorded, { start: [figure({ name: 'p50', value: 9, noise: 0.1 })] })).toEqual({});
    const unmeasured = recordedAs(figure({ name: 'p50', value: 1, unit: 'x' }));
    expect(regressionsTable(unmeasured, { turn: [figure({ name: 'p50', value: 9, unit: 'x', noise: 0.1 })] })).toEqual(
      {},
    );
  });

  it('and says by how much', () => {
    const now = { turn: [figure({ name: 'p50', value: 1.5, unit: 'x', noise: 0.04 })] };
    expect(regressionsTable(recorded, now)).toEqual({
      'turn: p50': { recorded: '1.00x', now: '1.50x', 'at most': '1.15x' },
    });
  });
});

describe('the CPU account', () => {
  it('counts what a process does itself, and what its ended children did', async () => {
    const family = { processes: async () => new Map([[process.pid, 'this']]), children: 'children' };
    const resting = { processes: async () => new Map([[1, 'first']]), children: 'children' };
    const account = createCpuAccount(
      new Map([
        ['busy', [family]],
        ['resting', [resting]],
      ]),
    );
    await account.begin();
    const { user, system } = process.cpuUsage();
    while (process.cpuUsage().user + process.cpuUsage().system - user - system < 100_000);
    execFileSync('sh', ['-c', 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done']); // about 100 ms and more
    await account.end('busy');
    const [use] = account.ofWork('busy');
    expect(use?.get('this')).toBeGreaterThan(90);
    expect(use?.get('children')).toBeGreaterThan(20);
    expect(account.ofWork('resting')).toEqual([]);
    expect([...account.atRest('resting').keys()]).toEqual(['first', 'children']);
  });
});

it('programs that ended are counted by name, within the turns and what follows them', () => {
  const ended = (at: number, of: string, cpuMs: number): Mark => ({
    at,
    server: 'supervisor',
    step: 'child ended',
    of,
    cpuMs,
  });
  const marks = [ended(1, 'git add', 10), ended(12, 'git add', 10), ended(13, 'sh', 0), ended(25, 'git add', 20)];
  const windows = [
    { from: 10, until: 20 },
    { from: 20, until: 30 },
  ];
  expect(childrenTable(marks, windows)).toEqual({
    'git add': { 'a turn': '1.00', 'CPU a turn, ms': '15.0' },
    sh: { 'a turn': '0.50', 'CPU a turn, ms': '0.0' },
  });
});

it('a bench hands over numbers only', () => {
  expect(parseFigures('[{"name":"a","value":1,"unit":"ms"}]')).toEqual([{ name: 'a', value: 1, unit: 'ms' }]);
  expect(() => parseFigures('[{"name":"a","value":null,"unit":"ms"}]')).toThrow(); // what JSON makes of NaN
});

describe('the steps of a turn', () => {
  const mark = (at: number, server: Mark['server'], step: string, of = ''): Mark => ({ at, server, step, of });
  const marks = [
    mark(1, 'web-server', 'request received'),
    mark(3, 'web-server', 'command sent', 'send_message'),
    mark(4, 'orchestrator', 'command received'),
    mark(5, 'orchestrator', 'command dispatched', 'send_message'),
    mark(7, 'orchestrator', 'commit begun'),
    mark(10, 'orchestrator', 'committed'),
    mark(11, 'orchestrator', 'line written'),
    mark(12, 'orchestrator', 'commit begun'), // one in between that tells of something else
    mark(13, 'orchestrator', 'committed'),
    mark(14, 'orchestrator', 'frame sent', 'session_updated'),
    mark(50, 'orchestrator', 'lines read'),
    mark(52, 'orchestrator', 'commit begun'),
    mark(53, 'orchestrator', 'committed'),
    mark(54, 'orchestrator', 'frame sent', 'approval_requested'),
    mark(55, 'web-server', 'frame received'),
    mark(56, 'web-server', 'event sent', 'approval-requested'),
    mark(57, 'web-server', 'event sent', 'session-updated'),
  ];

  it('are found from the click on, each behind the one before', () => {
    expect(timesIn(marks, 0, 'send_message').map(([, ms]) => ms)).toEqual([1, 2, 1, 1, 2, 3, 1]);
    expect(writtenOf(marks, 0, 'send_message')).toEqual({ writtenAt: 11, syncMs: 3 });
    expect(writtenOf(marks, 0, 'approve_tool')).toBeNull();
  });

  it('are found back from the event at the client; one without a mark counts into the next', () => {
    expect(timesOut(marks, 60, 'approval-requested')).toEqual([
      ['orchestrator: transaction', 2],
      ['orchestrator: commit', 1],
      ['orchestrator: event sent', 1],
      ['orchestrator -> web server', 1],
      ['web server: event sent', 1],
      ['web server -> client', 4],
    ]);
  });

  it('leave the rest to Claude Code', () => {
    const turn = {
      sentAt: 0,
      askedAt: 60,
      endedAt: 60,
      message: null,
      answer: null,
      claude: { cpuMs: 0, waitedMs: 0 },
      clientMs: 0,
    };
    const table = stepsTable([turn], marks);
    expect(table['all of it']?.['message -> request']).toBe('60.00');
    expect(table['Claude Code and its tool']?.['message -> request']).toBe('39.00');
    expect(table['all but Claude Code']?.['message -> request']).toBe('21.00');
  });
});
