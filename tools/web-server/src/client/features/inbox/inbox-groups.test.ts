import { expect, it } from 'vitest';
import { at, request } from '../../test/samples.ts';
import { followerOf, inboxGroups } from './inbox-items.ts';

const rule = (ruleContent: string) => [
  { type: 'addRules', behavior: 'allow', rules: [{ toolName: 'Bash', ruleContent }], destination: 'localSettings' },
];
const bash = (stageId: string, command: string, minutes: number, change: Record<string, unknown> = {}) =>
  request(stageId, `r-${stageId}`, {
    input: { command, description: `For ${stageId}` },
    createdAt: at(minutes),
    suggestions: [],
    ...change,
  });
const idsOf = (groups: ReturnType<typeof inboxGroups>) => groups.map(({ requests }) => requests.map((r) => r.stageId));

it('puts the longest-waiting request first, and groups the same call of several stages in the position of the oldest', () => {
  const groups = inboxGroups([bash('C', 'npm i', 3), bash('B', 'ls', 2), bash('A', 'npm i', 1)]);
  expect(idsOf(groups)).toEqual([['A', 'C'], ['B']]);
  expect(groups[0]?.rule).toBeNull();
});

it('groups calls under the same rule, and names the rule', () => {
  const groups = inboxGroups([
    bash('A', 'npm run a', 1, { suggestions: rule('npm run *') }),
    bash('B', 'npm run b', 2, { suggestions: rule('npm run *') }),
    bash('C', 'npm run c', 3, { suggestions: rule('npm run *'), suppressAlwaysAllow: true }),
  ]);
  expect(idsOf(groups)).toEqual([['A', 'B'], ['C']]);
  expect(groups[0]?.rule).toBe('Bash(npm run *)');
});

it('takes the same file of two worktrees for the same, and other stakes for another request', () => {
  const edit = (stageId: string, folder: string, minutes: number, stakes: object[] = []) =>
    request(stageId, `r-${stageId}`, {
      toolName: 'Edit',
      input: { file_path: `${folder}/src/a.ts`, old_string: '1', new_string: '2' },
      createdAt: at(minutes),
      suggestions: [],
      stakes,
    });
  const folderOf = (stageId: string) => `/w/${stageId}`;
  const outside = [{ code: 'outside', text: 'Changes files outside the stage’s folder.', command: null }];
  const pending = [edit('A', '/w/A', 1), edit('B', '/w/B', 2), edit('C', '/w/C', 3, outside), edit('D', '/w/AB', 4)];
  expect(idsOf(inboxGroups(pending, folderOf))).toEqual([['A', 'B'], ['C'], ['D']]);
});

it('never groups what leaves the sandbox', () => {
  const leaving = { leavesSandbox: { reason: null } };
  expect(inboxGroups([bash('A', 'npm i', 1, leaving), bash('B', 'npm i', 2, leaving)])).toHaveLength(2);
});

it('never groups questions or plans', () => {
  const plan = (id: string) => request(id, `p-${id}`, { kind: 'plan', toolName: 'ExitPlanMode', input: { plan: 'x' } });
  expect(inboxGroups([plan('A'), plan('B')])).toHaveLength(2);
});

it('continues with the next row when a row is removed', () => {
  expect(followerOf(['a', 'b', 'c'], 'b', ['a', 'c'])).toBe('c');
  expect(followerOf(['a', 'b', 'c'], 'c', ['a', 'b'])).toBe('b');
  expect(followerOf(['a', 'b', 'c'], 'a', ['c', 'd'])).toBe('c');
  expect(followerOf([], 'x', ['a'])).toBe('a');
  expect(followerOf(['a'], 'a', [])).toBeUndefined();
});
