import { describe, expect, it } from 'vitest';
import { type HandshakeCheck, type HandshakeReport, isWhole, regressionOf } from './report.ts';

const check = (id: string, verdict: HandshakeCheck['verdict']): HandshakeCheck => ({
  id,
  sentence: `does ${id}`,
  reliedOnFor: 'much',
  lack: `lacks ${id}`,
  verdict,
  why: verdict === 'yes' ? null : 'it does not',
});
const report = (version: string, day: number, checks: Record<string, HandshakeCheck['verdict']>): HandshakeReport => ({
  version,
  binary: null,
  at: `2030-01-0${day}T00:00:00.000Z`,
  checks: Object.entries(checks).map(([id, verdict]) => check(id, verdict)),
});

describe('a regression', () => {
  const now = report('2.1.340', 5, { a: 'yes', b: 'no', c: 'no', d: 'untried' });

  it('lists what an earlier version kept and this one does not', () => {
    const before = report('2.1.330', 4, { a: 'yes', b: 'yes', c: 'no', d: 'yes' });
    expect(regressionOf(now, [before])).toEqual({ since: '2.1.330', lost: [check('b', 'no')] });
  });

  it('compares with the earlier version that was tried last', () => {
    const older = report('2.1.320', 3, { b: 'yes', c: 'yes' });
    const newer = report('2.1.330', 2, { b: 'no', c: 'yes' });
    expect(regressionOf(now, [newer, older])).toMatchObject({ since: '2.1.320', lost: [{ id: 'b' }, { id: 'c' }] });
  });

  it('is null without an earlier version, or when nothing was lost', () => {
    expect(regressionOf(now, [])).toBeNull();
    expect(regressionOf(now, [report('2.1.340', 1, { b: 'yes' }), report('2.2.0', 2, { b: 'yes' })])).toBeNull();
    expect(regressionOf(now, [report('2.1.330', 1, { b: 'no', c: 'untried' })])).toBeNull();
  });
});

it('is complete only if every promise is known to be kept', () => {
  expect(isWhole(report('1', 1, { a: 'yes', b: 'yes' }))).toBe(true);
  expect(isWhole(report('1', 1, { a: 'yes', b: 'untried' }))).toBe(false);
});
