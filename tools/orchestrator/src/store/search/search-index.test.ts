import { CommentId } from '@callboard/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { postgresLack } from '../../../../../test-support/postgres.ts';
import { openTestSearch, text } from '../../../test/support/test-search.ts';
import { parseTerms } from './search-text.ts';

/** What both indexes promise. */
describe.for(['SQLite', 'PostgreSQL'] as const)('%s', (kind) => {
  const lack = kind === 'PostgreSQL' ? postgresLack : '';
  describe.skipIf(lack !== '')(`what is found${lack && ` (${lack})`}`, () => {
    it('is found in titles, prompts, messages, answers, calls and decisions at once, the newest first', async () => {
      const { find, places, addStage, say } = await openTestSearch(kind);
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
      const { places, addStage, say } = await openTestSearch(kind);
      const id = await addStage(1, 'Login');
      const at = '2026-02-01T10:00:00.000Z';
      await say(id, 1, {
        kind: 'decision',
        decision: {
          stageId: id,
          requestId: 'r',
          kind: 'question',
          toolName: 'AskUserQuestion',
          toolUseId: 't',
          outcome: 'answered',
          by: 'Ada',
          at,
          waitedMs: 0,
          reason: null,
          answers: { 'Which database?': 'PostgreSQL' },
          updatedInput: null,
          delivery: 'confirmed',
        },
      });
      expect(await places('postgresql database')).toEqual(['STAGE-1 decision 1']);
      expect(await places('postgresql', { by: 'Eve' })).toEqual([]);
    });

    it('finds comments where they are now, among what was said, and drafts for their authors alone', async () => {
      const { store, find, places, addStage, say, comment } = await openTestSearch(kind);
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
      await store.transact((tx) => tx.comments.save(draft));
      expect(await seenByEve()).toEqual([]);
    });

    it('follows comments that are changed and removed, also while it was away', async () => {
      const { store, places, openAgain, addStage, comment } = await openTestSearch(kind);
      const id = await addStage(1, 'Login');
      const first = await comment(id, 'c1');
      await comment(id, 'c2', { text: 'Rename that' });
      expect(await places('rename')).toHaveLength(2);
      const changed = await comment(id, 'c1', { ...first, text: 'Delete this' });
      expect(await places('rename')).toEqual(['STAGE-1 comment c2']);
      expect(await places('delete')).toEqual(['STAGE-1 comment c1']);
      await openAgain(() => comment(id, 'c1', { ...changed, text: 'Moved' }));
      expect(await places('moved')).toEqual(['STAGE-1 comment c1']);
      expect(await places('delete')).toEqual([]);
      await store.transact(async (tx) => {
        await tx.comments.remove(id, CommentId.parse('c1'));
        await tx.emit({ type: 'comments-updated', data: { stageId: id } });
      });
      expect(await places('moved')).toEqual([]);
      expect(await places('rename')).toEqual(['STAGE-1 comment c2']);
    });

    it('ignores case and accents, takes parts of code together, and finds text without spaces', async () => {
      const { places, addStage, say } = await openTestSearch(kind);
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
      const { find, addStage, say } = await openTestSearch(kind);
      const id = await addStage(1, 'Login');
      await say(id, 1, text(`${'before '.repeat(100)}the Wörd "x"\nstands here ${'after '.repeat(100)}`));
      const [result] = (await find('stands word')).results;
      const { snippet = '', marks = [] } = result ?? {};
      expect(snippet.length).toBeLessThan(210);
      expect(marks.map(([from, to]) => snippet.slice(from, to))).toEqual(['Wörd', 'stands']);
    });

    it('gives page after page, each result once, also of one instant', async () => {
      const { find, addStage, say } = await openTestSearch(kind);
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
      const { find, places, addStage } = await openTestSearch(kind);
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

  describe.skipIf(lack !== '')(`the index${lack && ` (${lack})`}`, () => {
    it('follows what is said, renamed and deleted', async () => {
      const { store, places, addStage, say, removeStage } = await openTestSearch(kind);
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
      await removeStage(id);
      expect(await places('alpha')).toEqual([]);
    });
  });
});
