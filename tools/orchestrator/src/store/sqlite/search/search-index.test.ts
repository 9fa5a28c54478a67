import { existsSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CommentId, StageId, TranscriptEntry } from '@callboard/contract';
import { sampleProject, sampleStage } from '@callboard/contract/samples';
import fc from 'fast-check';
import pino from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeEdges } from '../../../lib/edges.ts';
import type { IndexQuery, SearchIndex } from '../../ports/search-index.ts';
import { CommentRecord } from '../../records.ts';
import { parseTerms } from '../../search/parse-terms.ts';
import type { Store } from '../../store.ts';
import { openSqliteStore } from '../sqlite-store.ts';
import { openSqliteSearchIndex } from './sqlite-search-index.ts';

const log = pino({ level: 'silent' });
const ofStage = (n: number) => StageId.parse(`STAGE-${n}`);

let folder = '';
let store: Store;
let index: SearchIndex;
let isDiskFull = false;

const open = () =>
  openSqliteSearchIndex({
    files: { store: join(folder, 'store.sqlite'), index: join(folder, 'search.sqlite') },
    ...{ store, log, waitMs: 10, mayGrow: () => !isDiskFull },
  });

/** Ends it, so that what follows is done by the next one. */
async function openAgain(change: () => void = () => undefined): Promise<void> {
  await index.stop();
  change();
  index = open();
}

beforeEach(async () => {
  isDiskFull = false;
  folder = await mkdtemp(join(tmpdir(), 'callboard-search-'));
  store = await openSqliteStore(join(folder, 'store.sqlite'), nodeEdges, log);
  index = open();
  await store.transact((tx) => tx.projects.save(sampleProject()));
});

afterEach(async () => {
  await index.stop();
  await store.close();
  await rm(folder, { recursive: true });
});

async function addStage(n: number, title: string, prompt = 'Do it'): Promise<StageId> {
  const id = ofStage(n);
  const stage = sampleStage({ id, title, prompt, createdAt: new Date(2026, 0, n).toISOString() });
  await store.transact(async (tx) => {
    await tx.stages.insert(stage);
    await tx.emit({ type: 'stage-created', data: { stageId: id, stage } });
  });
  return id;
}

type Entry = { kind: string } & Record<string, unknown>;
let minute = 0;

async function say(stageId: StageId, first: number, ...entries: Entry[]): Promise<void> {
  await store.transact(async (tx) => {
    for (const [at, entry] of entries.entries()) {
      await tx.transcript.append([
        TranscriptEntry.parse({
          ...{ stageId, index: first + at, at: new Date(2026, 1, 1, 0, minute++).toISOString(), parentToolUseId: null },
          ...entry,
        }),
      ]);
    }
    await tx.emit({ type: 'transcript-appended', data: { stageId, index: first + entries.length - 1 } });
  });
}

const text = (words: string): Entry => ({ kind: 'text', text: words, blockId: 'b' });

const find = (q: string, more: Partial<IndexQuery> = {}) =>
  index.search({
    ...{ terms: parseTerms(q), stageIds: null, kind: undefined, by: undefined, since: undefined, before: undefined },
    ...{ person: 'Ada', limit: 20, ...more },
  });

/** The places of the results: "STAGE-1 text 2". */
const places = async (q: string, more: Partial<IndexQuery> = {}) =>
  (await find(q, more)).results.map((one) =>
    [one.stageId, one.kind, one.index ?? one.comment?.id].filter(Boolean).join(' '),
  );

async function comment(stageId: StageId, id: string, fields: Partial<Record<keyof CommentRecord, unknown>> = {}) {
  const version = '1'.repeat(16);
  const record = CommentRecord.parse({
    ...{ id, stageId, author: 'Ada', path: 'src/app.ts', side: 'new', line: 3, endLine: 4, version, quote: 'x' },
    ...{ origin: { line: 3, endLine: 4, version }, text: 'Rename this', hasMoved: false },
    ...{ createdAt: new Date(2026, 1, 1, 0, minute++).toISOString(), sentAt: null, sentBy: null },
    ...{ messageId: null, answeredAt: null, ...fields },
  });
  await store.transact(async (tx) => {
    await tx.comments.save(record);
    await tx.emit({ type: 'comments-updated', data: { stageId } });
  });
  return record;
}

describe('what is found', () => {
  it('is found in titles, prompts, messages, answers, calls and decisions at once, the newest first', async () => {
    const id = await addStage(1, 'Rate limits', 'Limit the rate of logins');
    await say(
      id,
      1,
      { kind: 'user', text: 'what about rate limits?', messageId: null, by: 'Ada' },
      text('The rate has limits now'),
      { kind: 'tool-use', toolUseId: 't', toolName: 'Bash', input: { command: 'grep -r rate_limits src' } },
      { kind: 'tool-result', toolUseId: 't', isError: false, text: 'src/limits.ts: rate' },
    );
    expect(await places('rate limit')).toEqual([
      'STAGE-1 title',
      'STAGE-1 prompt',
      'STAGE-1 tool 4',
      'STAGE-1 tool 3',
      'STAGE-1 text 2',
      'STAGE-1 message 1',
    ]);
    expect(await places('rate limit', { by: 'Ada' })).toEqual(['STAGE-1 message 1']);
    expect(await places('rate limit', { kind: 'title' })).toEqual(['STAGE-1 title']);
    expect(await places('grep', { kind: 'tool' })).toEqual(['STAGE-1 tool 3']);
    expect((await find('grep')).results[0]).toMatchObject({ toolName: 'Bash', snippet: 'grep -r rate_limits src' });
  });

  it('finds an answer in a decision by whoever gave it', async () => {
    const id = await addStage(1, 'Login');
    const at = '2026-02-01T10:00:00.000Z';
    await say(id, 1, {
      kind: 'decision',
      decision: {
        ...{
          stageId: id,
          requestId: 'r',
          kind: 'question',
          toolName: 'AskUserQuestion',
          toolUseId: 't',
          outcome: 'answered',
        },
        ...{
          by: 'Ada',
          at,
          waitedMs: 0,
          reason: null,
          answers: { 'Which database?': 'PostgreSQL' },
          updatedInput: null,
        },
        delivery: 'confirmed',
      },
    });
    expect(await places('postgresql database')).toEqual(['STAGE-1 decision 1']);
    expect(await places('postgresql', { by: 'Eve' })).toEqual([]);
  });

  it('finds comments where they are now, among what was said, and drafts for their authors alone', async () => {
    const id = await addStage(1, 'Rename the field');
    await say(id, 1, text('I will rename it'));
    const draft = await comment(id, 'c1');
    await comment(id, 'c2', { author: 'Claude', isFinding: true, severity: 'low', text: 'Rename the test' });
    await say(id, 2, text('Renamed'));
    const all = ['STAGE-1 title', 'STAGE-1 comment c2', 'STAGE-1 comment c1', 'STAGE-1 text 1'];
    expect(await places('rename ')).toEqual(all);
    expect(await places('rename ', { kind: 'comment', by: 'Claude' })).toEqual(['STAGE-1 comment c2']);
    expect((await find('rename', { kind: 'comment', by: 'Ada' })).results).toMatchObject([
      { snippet: 'Rename this', comment: { id: 'c1', path: 'src/app.ts', line: 3, endLine: 4, isFinding: false } },
    ]);
    const seenByEve = () => places('rename', { kind: 'comment', by: 'Ada', person: 'Eve' });
    expect(await seenByEve()).toEqual([]);
    await comment(id, 'c1', { ...draft, sentAt: draft.createdAt, sentBy: 'Ada', line: 7, endLine: 7 });
    expect(await seenByEve()).toEqual(['STAGE-1 comment c1']);
    expect((await find('rename', { by: 'Ada' })).results[0]?.comment).toMatchObject({ line: 7 });
    // Nothing has told the index that it is a draft again.
    execOn(
      join(folder, 'store.sqlite'),
      `update comments set document = json_set(document, '$.sentAt', null) where id = 'c1'`,
    );
    expect(await seenByEve()).toEqual([]);
  });

  it('follows comments that are changed and removed, also while it was away', async () => {
    const id = await addStage(1, 'Login');
    const first = await comment(id, 'c1');
    await comment(id, 'c2', { text: 'Rename that' });
    expect(await places('rename')).toHaveLength(2);
    await comment(id, 'c1', { ...first, text: 'Delete this' });
    expect(await places('rename')).toEqual(['STAGE-1 comment c2']);
    expect(await places('delete')).toEqual(['STAGE-1 comment c1']);
    await openAgain(() =>
      execOn(join(folder, 'store.sqlite'), `update comments set document = json_set(document, '$.text', 'Moved')`),
    );
    expect(await places('moved')).toHaveLength(2);
    expect(await places('rename')).toEqual([]);
    await store.transact(async (tx) => {
      await tx.comments.remove(id, CommentId.parse('c1'));
      await tx.emit({ type: 'comments-updated', data: { stageId: id } });
    });
    expect(await places('moved')).toEqual(['STAGE-1 comment c2']);
    await openAgain(() => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(join(folder, `search.sqlite${suffix}`), { force: true });
    });
    expect(await places('moved')).toEqual(['STAGE-1 comment c2']);
  });

  it('ignores case and accents, takes parts of code together, and finds text without spaces', async () => {
    const id = await addStage(1, 'Übergröße im Café');
    await say(id, 1, text('foo_bar in src/app.ts'), text('src and then app'), text('検索のための索引'));
    expect(await places('ubergrosse CAFE')).toEqual(['STAGE-1 title']);
    expect(await places('foo_bar')).toEqual(['STAGE-1 text 1']);
    expect(await places('src/app.ts')).toEqual(['STAGE-1 text 1']);
    expect(await places('"src app"')).toEqual(['STAGE-1 text 1']);
    expect(await places('STAGE-1')).toEqual(['STAGE-1 title']);
    expect(await places('索引')).toEqual(['STAGE-1 text 3']);
  });

  it('marks the words in a part of the text', async () => {
    const id = await addStage(1, 'Login');
    await say(id, 1, text(`${'before '.repeat(100)}the Wörd "x"\nstands here ${'after '.repeat(100)}`));
    const [result] = (await find('stands word')).results;
    const { snippet = '', marks = [] } = result ?? {};
    expect(snippet.length).toBeLessThan(210);
    expect(marks.map(([from, to]) => snippet.slice(from, to))).toEqual(['Wörd', 'stands']);
  });

  it('gives page after page, each result once, also of one instant', async () => {
    const id = await addStage(1, 'common');
    const at = '2026-02-01T10:00:00.000Z';
    await say(id, 1, ...Array.from({ length: 25 }, (_, n) => ({ ...text(`common ${n}`), at })));
    const seen: string[] = [];
    let before: string | undefined;
    for (let page = 0; page < 10; page++) {
      const { results, next } = await find('common', { limit: 7, before });
      seen.push(...results.map(({ kind, index: entry }) => `${kind} ${entry ?? ''}`));
      if (next === null) break;
      before = next;
    }
    expect(seen).toHaveLength(26);
    expect(new Set(seen).size).toBe(26);
    expect(seen[0]).toBe('title ');
    expect(seen.slice(1, 3)).toEqual(['text 25', 'text 24']);
  });

  it('has an answer for any string', async () => {
    await addStage(1, 'a "quoted" AND NOT title: NEAR(x)');
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'binary', maxLength: 40 }),
        fc.constantFrom('', ' NOT ', '"', '*', ':', '^', '{title} : '),
        async (q, sign) => {
          const terms = parseTerms(`${q}${sign}${q}`);
          if (terms.length > 0) await find(`${q}${sign}${q}`);
        },
      ),
      { numRuns: 60 },
    );
    expect(await places('AND NOT NEAR')).toEqual(['STAGE-1 title']);
  });
});

describe('the index', () => {
  it('follows what is said, renamed and deleted', async () => {
    const id = await addStage(1, 'First name');
    await say(id, 1, text('alpha'));
    expect(await places('alpha')).toEqual(['STAGE-1 text 1']);
    await say(id, 2, text('alpha again'));
    expect(await places('alpha')).toEqual(['STAGE-1 text 2', 'STAGE-1 text 1']);
    await store.transact(async (tx) => {
      const stage = await tx.stages.find(id);
      if (stage === null) throw new Error('no stage');
      const renamed = { ...stage, title: 'Second name' };
      await tx.stages.update(renamed);
      await tx.emit({ type: 'stage-updated', data: { stageId: id, stage: renamed } });
    });
    expect(await places('first')).toEqual([]);
    expect(await places('second')).toEqual(['STAGE-1 title']);
    await store.transact(async (tx) => {
      await tx.stages.remove(id);
      await tx.emit({ type: 'stage-removed', data: { stageId: id } });
    });
    expect(await places('alpha')).toEqual([]);
  });

  it('is complete after it was stopped, lost, damaged, or written in another shape', async () => {
    const id = await addStage(1, 'Login');
    await say(id, 1, text('alpha'));
    expect(await places('alpha')).toHaveLength(1);
    const file = join(folder, 'search.sqlite');
    const lose = () => {
      for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
    };
    const noDatabase = () => {
      lose();
      writeFileSync(file, 'not a database'.repeat(1000));
    };
    const changes: [string, () => void][] = [
      ['stopped', () => undefined],
      ['lost', lose],
      ['no database', noDatabase],
      ['cut off', () => truncateSync(file, Math.floor(statSync(file).size / 2))],
      ['another shape', () => execOn(file, 'pragma user_version = 99')],
    ];
    for (const [name, change] of changes) {
      await index.stop();
      execOn(file, 'pragma wal_checkpoint(truncate)');
      await openAgain(change);
      await say(id, changes.findIndex(([other]) => other === name) + 2, text(`beta ${name}`));
      expect(await places('alpha'), name).toEqual(['STAGE-1 text 1']);
      expect((await places('beta')).length, name).toBeGreaterThan(0);
    }
    expect(statSync(file).mode & 0o077).toBe(0);
  });

  it('takes entries of a store that lost its end, or was replaced, for others', async () => {
    const id = await addStage(1, 'Login');
    await say(id, 1, text('alpha'), text('lost'));
    expect(await places('lost')).toHaveLength(1);
    await index.stop();
    execOn(join(folder, 'store.sqlite'), 'delete from transcript where "index" = 2');
    await say(id, 2, text('replaced'));
    index = open();
    expect(await places('lost')).toEqual([]);
    expect(await places('replaced')).toEqual(['STAGE-1 text 2']);
  });

  it('says how far it is while it is built, and still finds what it has', async () => {
    const id = await addStage(1, 'Login');
    isDiskFull = true;
    await say(id, 1, text('alpha'), text('beta'));
    const { results, indexing } = await find('alpha');
    expect(results).toEqual([]);
    expect(indexing).toEqual({ done: 0, total: 2 });
    isDiskFull = false;
    expect(await find('alpha')).toMatchObject({ results: [{ stageId: id }], indexing: null });
  });

  it('indexes by itself, some time after a change', async () => {
    const id = await addStage(1, 'Login');
    await find('login'); // the thread has begun
    await say(id, 1, text('alpha'));
    const inFile = () => {
      if (!existsSync(join(folder, 'search.sqlite'))) return 0;
      const database = new DatabaseSync(join(folder, 'search.sqlite'), { readOnly: true });
      const { n } = { n: 0, ...database.prepare(`select count(*) as n from bodies where words match 'alpha'`).get() };
      database.close();
      return n;
    };
    await expect.poll(inFile).toBe(1);
  });
});

function execOn(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}
