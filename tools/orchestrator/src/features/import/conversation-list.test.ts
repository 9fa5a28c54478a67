import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { identify } from '@callboard/runtime/process-identity';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { conversationHistory, createConversationList, saidAfter } from './conversation-list.ts';
import { foreignClaude, openConversations } from './import.ts';

const uuid = (n: number): string => `24796da1-60bd-44a0-8d5b-${String(n).padStart(12, '0')}`;
const at = (n: number): string => `2026-11-23T17:29:${String(n).padStart(2, '0')}.000Z`;

/** A line in the order in which Claude Code 2.1.330 writes its fields. */
const line = (n: number, parent: number | null, fields: object): string =>
  `${JSON.stringify({ parentUuid: parent === null ? null : uuid(parent), isSidechain: false, ...fields, uuid: uuid(n), timestamp: at(n), cwd: '/code/shop', gitBranch: 'main' })}\n`;
const user = (content: unknown, more: object = {}) => ({ type: 'user', message: { role: 'user', content }, ...more });
const claude = (id: string, block: object) => ({
  type: 'assistant',
  message: { id, role: 'assistant', content: [block] },
});
const text = (text: string) => ({ type: 'text', text });

/** A folder of Claude Code, in which records are written. */
async function scene() {
  const config = await temporaryFolder();
  const env = { HOME: '/nowhere', CLAUDE_CONFIG_DIR: config };
  return {
    env,
    config,
    async write(folder: string, n: number, lines: string) {
      await mkdir(join(config, 'projects', folder), { recursive: true });
      const file = join(config, 'projects', folder, `${uuid(n)}.jsonl`);
      await writeFile(file, lines);
      return file;
    },
    list: (order: object = {}) =>
      createConversationList(env).list({
        folders: ['/code/shop'],
        except: '/data/worktrees',
        isLeftOut: () => false,
        limit: 10,
        ...order,
      }),
  };
}

const SAID = line(1, null, user('<command-name>/model</command-name>')) + line(2, 1, user('Mend the login'));

it('lists what was begun in a folder or below, by what the record says and not by the name of its folder', async () => {
  const { write, list } = await scene();
  await write('-code-shop', 1, `{"type":"mode"}\n${SAID}{"type":"custom-title","customTitle":"Login"}\n`);
  await write('-code-shop-api', 2, line(1, null, user('In a subfolder')).replace('/code/shop', '/code/shop/api'));
  await write('-code-shop-api', 3, line(1, null, user('A neighbour')).replace('/code/shop', '/code/shop-api'));
  await write('-code-shop', 4, line(1, null, { type: 'attachment' }));
  await write('-code-other', 5, SAID);
  await write('-code-shop', 6, 'no json\n{"parentUuid":null,"cut off');
  const { records, older } = await list();
  expect(
    records.map(({ firstWords, folder, name, branch, messages }) => [firstWords, folder, name, branch, messages]),
  ).toEqual(
    expect.arrayContaining([
      ['Mend the login', '/code/shop', 'Login', 'main', 2],
      ['In a subfolder', '/code/shop/api', null, 'main', 1],
    ]),
  );
  expect([records.length, older]).toEqual([2, 0]);
});

it('leaves out what belongs to stages, and says how many older ones there are', async () => {
  const { write, list } = await scene();
  for (const n of [1, 2, 3]) await write('-code-shop', n, SAID);
  expect((await list({ isLeftOut: (id: string) => id === uuid(2) })).records).toHaveLength(2);
  expect(await list({ limit: 1 })).toMatchObject({ records: [{}], older: 2 });
  expect((await list({ except: '/code' })).records).toEqual([]);
});

it('reads a large record only at its beginning, and a changed one again', async () => {
  const { write, env } = await scene();
  const file = await write('-code-shop', 1, SAID + line(3, 2, claude('m', text('x'.repeat(5 * 1024 * 1024)))));
  const lister = createConversationList(env);
  const order = { folders: ['/code/shop'], except: '/data', isLeftOut: () => false, limit: 10 };
  const [before] = (await lister.list(order)).records;
  expect(before).toMatchObject({ firstWords: 'Mend the login', messages: null });
  await appendFile(file, line(4, 3, user('More')));
  const [after] = (await lister.list(order)).records;
  expect((after?.bytes ?? 0) > (before?.bytes ?? 0)).toBe(true);
});

it('knows a conversation that a living process has open, and not one of a process that is gone', async () => {
  const { config, env } = await scene();
  expect(await openConversations(env)).toEqual(new Map());
  await mkdir(join(config, 'sessions'));
  const reported = (pid: number, n: number, procStart: string) =>
    writeFile(join(config, 'sessions', `${pid}.json`), JSON.stringify({ pid, sessionId: uuid(n), procStart }));
  const startTime = (await identify(process.pid))?.startTime ?? '';
  await reported(process.pid, 1, startTime);
  await reported(process.ppid, 2, 'of another process');
  await writeFile(join(config, 'sessions', '17.json'), '{"pid":17');
  expect(await openConversations(env)).toEqual(new Map([[uuid(1), process.pid]]));
});

/** A process with these words on its command line, and this environment. */
async function living(texts: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(
    process.execPath,
    ['-e', 'process.stdout.write("up"); setInterval(() => {}, 1e6)', '--', ...texts],
    {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child.pid ?? 0;
}

it('finds a process of somebody else by its command line, and neither a copy nor one of its own', async () => {
  const { env } = await scene();
  const find = (n: number) => foreignClaude(env, { conversationId: uuid(n), folder: '/data/worktrees/S1' });
  await living(['--resume', uuid(11), '--fork-session']);
  await living(['--resume', uuid(12)], { CB_LAUNCH: 'launch' });
  await living([`about ${uuid(13)}`]);
  expect([await find(11), await find(12), await find(13)]).toEqual([null, null, null]);
  const [apart, joined] = [await living(['--resume', uuid(14)]), await living([`--resume=${uuid(15)}`])];
  expect([await find(14), await find(15)]).toEqual([apart, joined]);
});

it('finds a process of somebody else by what it tells: its conversation, or its folder', async () => {
  const { config, env } = await scene();
  await mkdir(join(config, 'sessions'));
  const pid = await living([]);
  const procStart = (await identify(pid))?.startTime ?? '';
  const reported = (n: number, cwd: string) =>
    writeFile(join(config, 'sessions', `${pid}.json`), JSON.stringify({ pid, sessionId: uuid(n), procStart, cwd }));
  const find = () => foreignClaude(env, { conversationId: uuid(1), folder: '/data/worktrees/S1' });
  await reported(2, '/data/worktrees/S10');
  expect(await find()).toBeNull();
  await reported(1, '/elsewhere');
  expect(await find()).toBe(pid);
  await reported(2, '/data/worktrees/S1/packages');
  expect(await find()).toBe(pid);
});

it('tells what was said after a moment, and null without a record', async () => {
  const { write, env } = await scene();
  await write('-code-shop', 1, SAID + line(3, 2, claude('m', text('Mended.'))) + line(4, 3, user('And the logout')));
  const after = async (n: number) =>
    (await saidAfter(env, uuid(1), at(n)))?.entries.map(({ entry }) => ('text' in entry ? entry.text : entry.kind));
  expect(await after(3)).toEqual(['And the logout']);
  expect(await after(4)).toEqual([]);
  expect(await saidAfter(env, uuid(9), at(1))).toBeNull();
});

it('tells what was said on the branch that a resume follows', async () => {
  const { write } = await scene();
  const call = { type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { command: 'ls' } };
  const result = [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [text('a.txt')], is_error: false }];
  const lines = [
    line(1, null, user('Mend the login')),
    line(2, 1, claude('m1', { type: 'thinking', thinking: '' })),
    line(3, 2, claude('m1', call)),
    line(4, 3, user(result)),
    line(5, 3, claude('m1', text('A branch that was left'))),
    line(6, 4, { type: 'attachment', attachment: {} }),
    line(7, 6, claude('m2', text('Done.'))),
    line(8, 7, { type: 'system', subtype: 'compact_boundary' }).replace(
      `"${uuid(7)}"`,
      `null,"logicalParentUuid":"${uuid(7)}"`,
    ),
    line(9, 8, user('A summary', { isCompactSummary: true })),
    line(10, 9, user('<bash-input>ls</bash-input>')),
    line(11, 10, user('<bash-stdout>a.txt</bash-stdout><bash-stderr></bash-stderr>')),
    line(12, 11, user('Of a subagent', { isSidechain: true })),
    line(13, 11, claude('m3', text('y'.repeat(2 * 1024 * 1024)))),
  ];
  const history = await conversationHistory(await write('-code-shop', 1, lines.join('')));
  expect(history).toMatchObject({ leftOut: 0, lastLine: uuid(13) });
  expect(history?.entries.map(({ entry }) => ('text' in entry ? [entry.kind, entry.text] : [entry.kind]))).toEqual([
    ['user', 'Mend the login'],
    ['tool-use'],
    ['tool-result', 'a.txt'],
    ['text', 'Done.'],
    ['notice', expect.stringContaining('compacted')],
    ['user', '! ls'],
    ['notice', 'a.txt'],
    ['text', '[too long to be shown]'],
  ]);
  expect(history?.entries[0]?.at).toBe(at(1));
});

it('keeps the newest entries of a long conversation, and counts the others', async () => {
  const { write } = await scene();
  const lines = Array.from({ length: 2_005 }, (_, n) =>
    line(n, n === 0 ? null : n - 1, user(`Message ${n}`)).replace(/"timestamp":"[^"]*"/, `"timestamp":"${at(1)}"`),
  );
  const history = await conversationHistory(await write('-code-shop', 1, lines.join('')));
  expect(history).toMatchObject({ leftOut: 5, entries: { length: 2_000 }, lastLine: uuid(2_004) });
});

it('does not hang on a record that goes in a circle, and says nothing about an empty one', async () => {
  const { write } = await scene();
  const file = await write('-code-shop', 1, line(1, 2, user('One')) + line(2, 1, user('Two')));
  expect((await conversationHistory(file))?.entries).toHaveLength(2);
  expect(await conversationHistory(await write('-code-shop', 2, '{"type":"mode"}\n'))).toBeNull();
});
