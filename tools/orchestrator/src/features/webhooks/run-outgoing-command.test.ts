import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WebhookEvent } from '@callboard/contract';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../../test-support/temporary-folder.ts';
import { until } from '../../../../../test-support/until.ts';
import { commandsFolder, endCommand, runWithInput } from '../../core/shell/run-command.ts';
import { findCommandProcesses } from '../../platform/process-table.ts';
import { createOutgoingCommands, endOutgoingLeft } from './webhook-request.ts';
import { testEvent } from './webhooks.ts';

const now = new Date('2026-01-02T03:04:05.000Z');
const event = testEvent('1', now.toISOString(), 'https://board.example.com');
const call = { webhookId: 'w1', event, receipt: null, now };
const MARKER = `outgoing-w1-${event.id}`;

async function setUp() {
  const home = await temporaryFolder();
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    LANG: 'C',
    ANTHROPIC_API_KEY: 'secret',
    CALLBOARD_SECRET: 'x',
  };
  const graceMs = 300;
  const endLeft = (id: string) => endCommand({ id, process: null, isSandboxed: false }, graceMs);
  let started = () => undefined;
  const commands = createOutgoingCommands({
    env,
    home,
    endLeft,
    async start(job) {
      const running = await runWithInput({ dataDir: home, graceMs }, job);
      started();
      return running;
    },
  });
  const onStarted = (then: () => void) => {
    started = () => void then();
  };
  const startAgain = () => endOutgoingLeft({ commands: commandsFolder(home), endLeft });
  const run = (argv: string[], { seconds = 30, signal = new AbortController().signal, webhookId = 'w1' } = {}) =>
    commands({ form: 'command', argv, timeLimitSeconds: seconds }, { ...call, webhookId }, signal);
  /** A program that is a script of the test. */
  const script = async (text: string) => {
    const file = join(home, 'script.sh');
    await writeFile(file, text);
    return ['/bin/sh', file];
  };
  return { home, run, script, onStarted, startAgain };
}

const left = async () => (await findCommandProcesses()).get(MARKER) ?? [];

it('hands a program its arguments as they are, the event, and nothing secret', async () => {
  const { home, run, script } = await setUp();
  const program = await script(
    'env | sort > env.txt; cat > event.json; printf "%s\\n" "$@" > arguments.txt; pwd > place.txt',
  );
  expect(await run([...program, '$HOME; echo x', '*'])).toEqual({ kind: 'taken', receipt: null });
  const file = (name: string) => readFile(join(home, name), 'utf8');
  expect(await file('arguments.txt')).toBe('$HOME; echo x\n*\n');
  expect(WebhookEvent.parse(JSON.parse(await file('event.json')))).toEqual(event);
  expect((await file('place.txt')).trim()).toBe(home);
  const env = await file('env.txt');
  expect(env).toContain(`CALLBOARD_EVENT_ID=${event.id}\n`);
  expect(env).toContain('CALLBOARD_TITLE=Callboard\n');
  expect(env).toContain('CALLBOARD_URL=https://board.example.com\n');
  expect(env).not.toMatch(/ANTHROPIC_API_KEY|CALLBOARD_SECRET/);
});

it('says how a program failed, with the end of what it printed', async () => {
  const { run, script } = await setUp();
  expect(await run(await script('echo "no such user" >&2; exit 3'))).toEqual({
    kind: 'refused',
    error: 'It ended with exit code 3. It printed: no such user',
  });
  expect(await run(['/no/such/program'])).toMatchObject({ kind: 'refused', error: expect.stringContaining('ENOENT') });
});

it('ends all processes of a program after its time limit, and when Callboard stops', async () => {
  const { run, script } = await setUp();
  const program = await script('sleep 300 & sleep 300');
  expect(await run(program, { seconds: 1 })).toMatchObject({ kind: 'refused', error: expect.stringContaining('1 s') });
  expect(await left()).toEqual([]);
  const stopping = new AbortController();
  const running = run(program, { signal: stopping.signal });
  await until('the program runs', async () => (await left()).length > 1);
  stopping.abort();
  expect(await running).toMatchObject({ kind: 'refused' });
  expect(await left()).toEqual([]);
});

it('ends what an attempt before a crash has left running, before it begins anew', async () => {
  const { home, run, script } = await setUp();
  const program = await script('echo run >> runs.txt; sleep 300');
  void run(program); // is killed: nobody hears of its end
  await until('the program runs', async () => (await left()).length > 1);
  const before = await left();
  expect(await run(['/bin/true'], { webhookId: 'w2' })).toMatchObject({ kind: 'taken' });
  expect(await left()).toEqual(before); // another one that is told of the same
  const again = await script('echo run >> runs.txt');
  expect(await run(again)).toEqual({ kind: 'taken', receipt: null });
  expect((await readFile(join(home, 'runs.txt'), 'utf8')).trim().split('\n')).toHaveLength(2);
  expect((await left()).filter((pid) => before.includes(pid))).toEqual([]);
});

it('ends what was left running at the next start, also if its call is never made again', async () => {
  const { home, run, script, startAgain } = await setUp();
  await startAgain(); // there is nothing yet
  const program = await script('sleep 300');
  void run(program); // is killed: nobody hears of its end
  await until('the program runs', async () => (await left()).length > 0);
  const other = await setUp(); // another Callboard on this machine ends its own only
  await other.startAgain();
  expect(await left()).not.toEqual([]);
  await startAgain();
  expect(await left()).toEqual([]);
  expect(existsSync(join(home, 'commands', 'outgoing'))).toBe(false);
});

it('ends a program that is stopped while it is being started', async () => {
  const { run, script, onStarted } = await setUp();
  const stopping = new AbortController();
  onStarted(() => stopping.abort());
  // A shell that outlives its command for a moment would say that it was terminated.
  const called = await run(await script('exec sleep 300'), { seconds: 3, signal: stopping.signal });
  expect(called).toEqual({ kind: 'refused', error: 'Callboard was stopped before the command had ended.' });
  expect(await left()).toEqual([]);
});
