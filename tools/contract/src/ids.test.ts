import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LaunchId, MessageId, ProjectId, RequestId, StageId } from './ids.ts';

const run = promisify(execFile);
const accepts = (text: string) => StageId.safeParse(text).success;

it.each(['STAGE-1', 'STAGE-001-002-003', 'a', '0', 'v1.2_b-c', 'x'.repeat(100)])(
  'takes %s as the id of a stage',
  (id) => {
    expect(accepts(id)).toBe(true);
  },
);

it.each([
  ['nothing', ''],
  ['the folder itself', '.'],
  ['the folder above', '..'],
  ['a way out of the folder', 'a/../../b'],
  ['two dots inside', 'a..b'],
  ['a slash', 'a/b'],
  ['a backslash', 'a\\b'],
  ['a hidden file', '.git'],
  ['an option of a command', '-rf'],
  ["git's own lock file", 'STAGE-1.lock'],
  ['a dot at the end', 'STAGE-1.'],
  ['a blank', 'STAGE 1'],
  ['a line break at the end', 'STAGE-1\n'],
  ['a null byte', 'STAGE-1\0'],
  ['what git reads as a revision', 'a@{1}'],
  ['wildcards', 'a*'],
  ['a percent sign', 'a%2fb'],
  ['letters beyond ASCII', 'Stufe-ä'],
  ['more than a file name may hold', 'x'.repeat(101)],
])('refuses %s as the id of a stage', (_what, id) => {
  expect(accepts(id)).toBe(false);
});

it('accepts only ids that are a single folder name and need no escaping in a URL', () => {
  fc.assert(
    fc.property(idLike, (id) => {
      fc.pre(accepts(id));
      expect(encodeURIComponent(id)).toBe(id);
      expect(id).not.toMatch(/^\.|\/|\.\.|\s/);
    }),
  );
});

it('accepts only ids that git accepts in a branch name', async () => {
  const ids = fc.sample(idLike.filter(accepts), 60);
  for (const id of ids) await run('git', ['check-ref-format', '--branch', `callboard/${id}`]);
});

it.each([
  ['project', ProjectId, 'shop', ''],
  ['launch', LaunchId, '019b0000-0000-7000-8000-000000000000', ''],
  ['request', RequestId, 'bc917222', ''],
  ['message', MessageId, 'not-a-uuid', ''],
] as const)('takes a %s id that is there and refuses an empty or endless one', (_what, schema, good, empty) => {
  expect(schema.safeParse(good).success).toBe(true);
  expect(schema.safeParse(empty).success).toBe(false);
  expect(schema.safeParse('x'.repeat(1_000)).success).toBe(false);
});

/** Texts that are nearly ids: most of the characters are allowed, some are not. */
const idLike = fc.string({
  minLength: 1,
  maxLength: 40,
  unit: fc.constantFrom(...'aZ09._-aZ09._-/@{~^:?*[\\ '.split(''), 'lock', '.lock', '..'),
});
