import { expect, it } from 'vitest';
import type { SettingsFile } from '../../core/worktrees/repository-files.ts';
import { contentOf, excludedCommands, itemsOf, settingsItems } from './settings-items.ts';
import { restrictions } from './trust.ts';

const settings = (content: unknown): SettingsFile => ({
  kind: 'settings',
  name: '.claude/settings.json',
  text: typeof content === 'string' ? content : JSON.stringify(content),
  isPersonal: false,
});
const reported = (file: SettingsFile) => itemsOf(file).map(({ kind, value }) => `${kind} ${value}`);
const agent = (lines: string): SettingsFile => ({ ...settings(`---\n${lines}\n---\nText`), kind: 'agents' });

it.each([
  [{ apiKeyHelper: './key.sh' }, ['helper ./key.sh']],
  [{ statusLine: { type: 'command', command: 'date' } }, ['helper date']],
  [{ env: { A: 'b', C: 'd' } }, ['env A=b', 'env C=d']],
  [{ enableAllProjectMcpServers: true }, ['mcp-server enableAllProjectMcpServers']],
  [{ enabledMcpjsonServers: ['a', 'b'] }, ['mcp-server a', 'mcp-server b']],
  [{ enabledPlugins: { 'a@b': true, 'c@d': false } }, ['plugin a@b']],
  [{ permissions: { allow: ['Read'], defaultMode: 'acceptEdits' } }, ['rule Read', 'mode acceptEdits']],
  [{ permissions: { additionalDirectories: ['/etc'] } }, ['directory /etc']],
  [{ disableAllHooks: true }, ['other disableAllHooks']],
  [{ sandbox: { enabled: false } }, ['other {"sandbox":{"enabled":false}}']],
  [{ aKeyOfTomorrow: 1 }, ['other {"aKeyOfTomorrow":1}']],
])('lists what settings switch on: %j', (content, items) => {
  expect(reported(settings(content))).toEqual(items);
});

it.each([
  {},
  { $schema: 'https://example.org', model: 'claude-opus-5-5', includeCoAuthoredBy: false, outputStyle: 'Concise' },
  { permissions: { deny: ['Bash(rm *)'], ask: ['Bash(ls *)'], defaultMode: 'plan' } },
  { disableAllHooks: false, enableAllProjectMcpServers: false, hooks: {}, env: {} },
])('asks nothing for what switches nothing on: %j', (content) => {
  expect(reported(settings(content))).toEqual([]);
});

it.each(['not JSON', '[]', '// words\n{}', '{"hooks":{},}'])(
  'asks for a file that it does not understand: %s',
  (text) => {
    expect(itemsOf(settings(text))).toMatchObject([{ kind: 'other', value: text }]);
  },
);

it('reads a file with a byte order mark, as Claude Code does', () => {
  expect(reported(settings('\uFEFF{"apiKeyHelper":"x"}'))).toEqual(['helper x']);
});

it('lists hooks with their event, and values of another shape unchanged', () => {
  const hooks = {
    PreToolUse: [{ matcher: 'Bash', hooks: [{ command: 'check' }, { type: 'prompt', prompt: 'Sure?' }] }],
    Stop: '?',
  };
  expect(itemsOf(settings({ hooks }))).toMatchObject([
    { kind: 'hook', value: 'check', text: 'Runs before a tool is used (Bash). It can allow tools without asking you.' },
    { kind: 'hook', value: expect.stringContaining('Sure?') },
    { kind: 'hook', value: '?' },
  ]);
});

it('lists the servers of .mcp.json with their arguments', () => {
  const file: SettingsFile = {
    ...settings({ mcpServers: { a: { command: 'npx', args: ['-y', 'a'], env: { K: 'v' } }, b: { url: 'https://b' } } }),
    kind: 'mcp',
  };
  expect(reported(file)).toEqual(['mcp-server npx -y a {"env":{"K":"v"}}', 'mcp-server {"url":"https://b"}']);
});

it.each([
  ['name: a\ntools: Read', []],
  ['name: a\npermissionMode: plan', []],
  ['name: a\npermissionMode: acceptEdits', ['mode acceptEdits']],
  ['mcpServers:\n  - shared\n  - own:\n      command: run', ['mcp-server run']],
  ['hooks:\n  Stop:\n    - hooks:\n        - command: tell', ['hook tell']],
  ['description: : not YAML\nhooks: x', ['other description: : not YAML\nhooks: x']],
  ['description: : not YAML', []],
])('lists what the first lines of an agent switch on: %j', (lines, items) => {
  expect(reported(agent(lines))).toEqual(items);
});

it('lists the allowed tools of a command as a rule', () => {
  const command: SettingsFile = { ...settings('---\nallowed-tools: [Bash(a *), Read]\n---\n'), kind: 'commands' };
  expect(reported(command)).toEqual(['rule Bash(a *), Read']);
});

it('identifies content by what runs, not by its formatting', async () => {
  const hash = async (content: unknown, scripts: Record<string, string> = {}) =>
    (await contentOf({ files: [settings(content)], read: async (path) => scripts[path] ?? null })).hash;
  const command = 'bash "$CLAUDE_PROJECT_DIR"/.claude/check.sh --all';
  const hooks = { Stop: [{ hooks: [{ type: 'command', command }] }] };
  const before = await hash({ hooks, model: 'a' }, { '.claude/check.sh': 'exit 0' });
  expect(await hash({ model: 'b', hooks, permissions: { deny: ['X'] } }, { '.claude/check.sh': 'exit 0' })).toBe(
    before,
  );
  expect(await hash({ hooks }, { '.claude/check.sh': 'exit 1' })).not.toBe(before);
  expect(await hash({ hooks, env: { A: 'b' } }, { '.claude/check.sh': 'exit 0' })).not.toBe(before);
  expect(await hash({ model: 'a' })).toBe('');
});

it('resolves restrictions of files that are left out relative to the worktree', () => {
  const file = settings({
    permissions: { deny: ['Read(/secret/**)', 'Read(//etc/**)', 'Bash(/bin/rm *)', 'Edit(~/x)'] },
  });
  expect(restrictions({ files: [file], read: async () => null }, '/w/S1').deny).toEqual([
    'Read(//w/S1/secret/**)',
    'Read(//etc/**)',
    'Bash(/bin/rm *)',
    'Edit(~/x)',
  ]);
});

it('lists the commands that settings let run outside the sandbox', () => {
  expect(excludedCommands('{"sandbox":{"excludedCommands":["docker *",1,"gh *"]}}')).toEqual(['docker *', 'gh *']);
  for (const text of ['', '{', '[]', '{"sandbox":[]}', '{"sandbox":{"excludedCommands":"x"}}', '{}'])
    expect(excludedCommands(text)).toEqual([]);
});

it('ignores the empty file that the sandbox puts in the place of a missing one', () => {
  const file = { kind: 'settings', name: '.claude/settings.json', text: '' } as const;
  expect(settingsItems(file)).toEqual([]);
  expect(settingsItems({ ...file, text: '{' })).toHaveLength(1);
});
