import { csvField, Decision } from '@callboard/contract';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Refusal } from './fake-orchestrator.ts';
import { bearer, type Harness, startHarness } from './harness.ts';
import { decision } from './samples.ts';

const START = Date.parse('2026-01-01T00:00:00.000Z');
const isoAt = (n: number) => new Date(START + n).toISOString();
const HEAD =
  'at,stageId,requestId,kind,toolName,asked,toolUseId,outcome,by,waitedMs,reason,answers,updatedInput,delivery,lost,settlement,stageTitle,projectId,denial,device,hosts';

/** Newest first, one per millisecond, as in the log. */
const log = Array.from({ length: 2_500 }, (_, i) => ({
  ...decision,
  device: 'Chrome on Android',
  at: isoAt(2_500 - i),
}));

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
  harness.orchestrator.handlers.get_decisions = ({ before, limit = 200 }) => {
    const matching = log.filter(({ at }) => before === undefined || at < before);
    const decisions = matching.slice(0, limit);
    return { decisions, next: matching.length > limit ? (decisions.at(-1)?.at ?? null) : null };
  };
});
afterEach(() => harness.stop());

const get = (query: string, accept = '*/*') =>
  harness.app.inject({ url: `/api/decisions${query}`, headers: { ...bearer, accept } });

it('answers with a page, and with the rest on request', async () => {
  const first = (await get('?limit=1000')).json();
  expect([first.decisions.length, first.next]).toEqual([1_000, isoAt(1_501)]);
  const last = (await get(`?limit=1000&before=${isoAt(501)}`)).json();
  expect([last.decisions.length, last.next]).toEqual([500, null]);
});

it.each([
  ['?format=csv', '*/*'],
  ['', 'text/csv'],
  ['', 'text/csv, */*;q=0.1'],
])('exports the whole log as CSV for %j and Accept: %s', async (query, accept) => {
  const response = await get(query, accept);
  expect(response.headers['content-type']).toBe('text/csv; charset=utf-8');
  expect(response.headers['content-disposition']).toBe('attachment; filename="decisions.csv"');
  const lines = response.body.split('\r\n');
  expect(lines[0]).toBe(HEAD);
  expect(lines[1]).toBe(
    `${isoAt(2_500)},STAGE-1,request-1,approval,Bash,Bash npm test,tool-1,allowed,Ann,1200,,,,written,,,,,,Chrome on Android,`,
  );
  expect(lines).toHaveLength(2_502);
  expect(lines.at(-1)).toBe('');
  expect(harness.orchestrator.inputsOf('get_decisions')).toHaveLength(3);
});

it('exports as JSON lines, filtered, and no more than requested', async () => {
  const response = await get('?format=jsonl&limit=1200&by=Ann');
  expect(response.headers['content-type']).toBe('application/jsonl; charset=utf-8');
  const lines = response.body.trimEnd().split('\n');
  expect(lines.map((line) => Decision.parse(JSON.parse(line)))).toEqual(log.slice(0, 1_200));
  expect(harness.orchestrator.inputsOf('get_decisions')).toEqual([
    { by: 'Ann', limit: 1_000 },
    { by: 'Ann', limit: 1_000, before: isoAt(1_501) },
  ]);
});

it('exports which part of Claude Code denied a call', async () => {
  const denied = {
    ...decision,
    outcome: 'denied',
    by: 'Claude Code',
    denial: { source: 'rule', detail: 'Bash(npm *)' },
  };
  harness.orchestrator.handlers.get_decisions = () => ({ decisions: [Decision.parse(denied)], next: null });
  const [, line] = (await get('?format=csv&source=rule')).body.split('\r\n');
  expect(line).toMatch(/,denied,Claude Code,.*,"\{""source"":""rule"",""detail"":""Bash\(npm \*\)""\}",,$/);
  expect(harness.orchestrator.inputsOf('get_decisions')).toMatchObject([{ source: 'rule' }]);
});

it('exports an empty log as its header row alone', async () => {
  harness.orchestrator.handlers.get_decisions = () => ({ decisions: [], next: null });
  expect((await get('?format=csv')).body).toBe(`${HEAD}\r\n`);
  expect((await get('?format=jsonl')).body).toBe('');
});

it('is a problem, not a file, when the first page cannot be read', async () => {
  harness.orchestrator.handlers.get_decisions = () => {
    throw new Refusal('unknown_stage', 'There is no such stage.');
  };
  const response = await get('?format=csv');
  expect([response.statusCode, response.json().code]).toEqual([404, 'unknown_stage']);
  expect(response.headers['content-type']).toMatch(/^application\/problem\+json/);
  expect(response.headers['content-disposition']).toBeUndefined();
});

it('ends the connection when a later page cannot be read, so that nobody mistakes a part for the whole', async () => {
  const all = harness.orchestrator.handlers.get_decisions;
  harness.orchestrator.handlers.get_decisions = (input) => {
    if (input.before !== undefined || all === undefined) throw new Refusal('storage_failed', 'The disk is gone.');
    return all(input);
  };
  const origin = await harness.listen();
  const response = await fetch(`${origin}/api/decisions?format=csv`, { headers: bearer });
  expect(response.status).toBe(200);
  await expect(response.text()).rejects.toThrow();
});

it.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', "'\t=1"],
  ['=cmd|"/C calc"', '"\'=cmd|""/C calc"""'],
  ['a,b', '"a,b"'],
  ['a\nb', '"a\nb"'],
  ['say "hi"', '"say ""hi"""'],
  [null, ''],
  [1200, '1200'],
  [{ a: 1 }, '"{""a"":1}"'],
])('writes the field %j as %s', (value, field) => {
  expect(csvField(value)).toBe(field);
});
