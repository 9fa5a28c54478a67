import { expect, it } from 'vitest';
import { gitFailure } from './run-git.ts';

const WHAT = 'The worktree was not created.';

it.each([
  [
    'fatal: could not write: No space left on device',
    /^The worktree was not created\. The disk is full\. Free some space/,
  ],
  ["fatal: 'x' is already used by worktree at '/other'", /checked out in \/other\. Switch/],
  ["fatal: Unable to create '/shop/.git/index.lock': File exists.", /Another git command is running/],
  ['error: could not lock config file: Permission denied', /not allowed to write there/],
  ['fatal: not a git repository: /gone', /no longer there/],
  ['error: object file .git/objects/ab is empty', /damaged\. Run `git fsck`/],
])('puts the cause first, and git’s own words below: %s', (output, text) => {
  const [first, ...details] = gitFailure(WHAT, output).split('\n');
  expect(first).toMatch(text);
  expect(details).toEqual([output]);
});

it('says so if it does not know the cause', () => {
  expect(gitFailure(WHAT, 'fatal: odd\nhint: very\n')).toBe(`${WHAT} Git gave this reason:\nfatal: odd\nhint: very`);
  expect(gitFailure(WHAT, ' ')).toBe(`${WHAT} Git gave no reason.`);
});
