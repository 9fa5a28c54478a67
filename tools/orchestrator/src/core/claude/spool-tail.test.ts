import { appendFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { until } from '../../../../../test-support/until.ts';
import { createSpoolTail } from './channel.ts';
import type { SpoolLine } from './frames.ts';

async function makeSpool(content = ''): Promise<string> {
  const spool = join(await temporaryFolder(), 'out.jsonl');
  await writeFile(spool, content);
  return spool;
}

/** Reads a spool into a list until the tail ends. */
function follow(spool: string, offset = 0) {
  const closing = new AbortController();
  const tail = createSpoolTail(spool, offset, closing.signal);
  const texts: string[] = [];
  let end = offset;
  const ended = (async () => {
    for await (const lines of tail.batches()) {
      texts.push(...lines.map((line) => line.text));
      end = lines.at(-1)?.end ?? end;
    }
  })();
  ended.catch(() => undefined);
  onTestFinished(() => closing.abort());
  const saw = (count: number) => until(`${count} lines were read`, () => texts.length >= count);
  return { tail, texts, ended, saw, end: () => end, abort: () => closing.abort() };
}

it('yields the existing lines, then those that are appended', async () => {
  const spool = await makeSpool('{"n":1}\n{"n":2}\n');
  const seen = follow(spool);
  await seen.saw(2);
  await appendFile(spool, '{"n":3}\n');
  await seen.saw(3);
  expect(seen.texts).toEqual(['{"n":1}', '{"n":2}', '{"n":3}']);
  expect(seen.end()).toBe(24);
});

it('starts at the given offset', async () => {
  const spool = await makeSpool('{"n":1}\n{"n":2}\n');
  const seen = follow(spool, 8);
  await seen.saw(1);
  expect(seen.texts).toEqual(['{"n":2}']);
  expect(seen.end()).toBe(16);
});

it('assembles a line that arrives in pieces', async () => {
  const spool = await makeSpool('{"a":"');
  const seen = follow(spool);
  const bytes = Buffer.from('ä 🐙"}\n{"b":1}\n');
  for (const byte of bytes) await appendFile(spool, Uint8Array.of(byte));
  await seen.saw(2);
  expect(seen.texts).toEqual(['{"a":"ä 🐙"}', '{"b":1}']);
});

it('reads a spool, and a line, that are far larger than one read', async () => {
  const lines = Array.from({ length: 20_000 }, (_, n) => JSON.stringify({ n, text: 'x'.repeat(40) }));
  lines.splice(10_000, 0, JSON.stringify({ text: 'y'.repeat(1_000_000) }));
  const spool = await makeSpool(`${lines.join('\n')}\n`);
  const seen = follow(spool);
  seen.tail.finish();
  await seen.ended;
  expect(seen.texts).toEqual(lines);
});

it('yields everything that was written before finish(), then ends', async () => {
  const spool = await makeSpool();
  const seen = follow(spool);
  for (let n = 0; n < 200; n++) await appendFile(spool, `{"n":${n}}\n`);
  await appendFile(spool, '{"cut":');
  seen.tail.finish();
  await seen.ended;
  expect(seen.texts).toHaveLength(201);
  expect(seen.texts.at(-1)).toBe('{"cut":');
});

it('ends at once when finish() came before the first read', async () => {
  const seen = follow(await makeSpool());
  seen.tail.finish();
  await seen.ended;
  expect(seen.texts).toEqual([]);
});

it('reads the next bytes only when the next batch is requested', async () => {
  const spool = await makeSpool('{"n":1}\n');
  const closing = new AbortController();
  const tail = createSpoolTail(spool, 0, closing.signal);
  const batches = tail.batches();
  const next = async () => ((await batches.next()).value as SpoolLine[]).map((line) => line.text);
  expect(await next()).toEqual(['{"n":1}']);
  await appendFile(spool, '{"n":2}\n');
  await appendFile(spool, '{"n":3}\n');
  expect(await next()).toEqual(['{"n":2}', '{"n":3}']);
  closing.abort();
  expect((await batches.next()).done).toBe(true);
});

it('refuses a spool that is shorter than its offset', async () => {
  const spool = await makeSpool('{"n":1}\n');
  await truncate(spool, 3);
  await expect(follow(spool, 8).ended).rejects.toMatchObject({ code: 'spool_truncated', kind: 'operational' });
});

it('detects that the spool was truncated while it is read', async () => {
  const spool = await makeSpool('{"n":1}\n');
  const seen = follow(spool);
  await seen.saw(1);
  await truncate(spool, 3);
  await expect(seen.ended).rejects.toMatchObject({ code: 'spool_truncated' });
});

it('rejects when the spool does not exist', async () => {
  const folder = await temporaryFolder();
  await expect(follow(join(folder, 'none.jsonl')).ended).rejects.toMatchObject({ code: 'ENOENT' });
});

it('ends when it is aborted, while waiting and before the first read', async () => {
  const spool = await makeSpool('{"n":1}\n');
  const waiting = follow(spool);
  await waiting.saw(1);
  waiting.abort();
  await waiting.ended;
  const early = follow(spool);
  early.abort();
  await early.ended;
  expect(early.texts).toEqual([]);
});
