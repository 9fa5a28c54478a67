import { describe, expect, it } from 'vitest';
import { percentile } from './measure.ts';
import { comparisonTable, type Figure, goalsTable, isMet, parseFigures } from './results.ts';
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
    };
    const table = stepsTable([turn], marks);
    expect(table['all of it']?.['message -> request']).toBe('60.00');
    expect(table['Claude Code and its tool']?.['message -> request']).toBe('39.00');
    expect(table['all but Claude Code']?.['message -> request']).toBe('21.00');
  });
});
