import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { identify, isAlive } from '@callboard/runtime/process-identity';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { runHere } from './child-processes.ts';
import { createSpawner } from './processes.ts';
import { hostProgramsOf } from './program-host.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callboard-spawner-'));
  return () => rm(folder, { recursive: true });
});

const shell = (script: string) => ({ command: '/bin/sh', args: ['-c', script], cwd: folder });
const isGone = async (pid: number) => (await identify(pid)) === null;

function setUp(options?: { idleMs: number }) {
  const spawner = createSpawner(options);
  onTestFinished(spawner.stop);
  return { ...spawner, pid: async () => Number((await spawner.run(shell('echo $PPID'))).stdout) };
}

/** A process that runs until it gets SIGTERM, and exits with 3 then. */
const LIVES = 'trap "exit 3" TERM; touch up; while :; do sleep 0.05; done';
const isUp = () => expect.poll(() => existsSync(join(folder, 'up'))).toBe(true);

describe.each(['in this process', 'by a spawner'])('a job that runs %s', (where) => {
  const runner = () => (where === 'by a spawner' ? setUp().run : runHere);

  it('returns its output and its exit code, and has no input', async () => {
    const env = { PATH: '/usr/bin:/bin', ONLY: 'this' };
    expect(await runner()({ ...shell('cat; pwd; echo "$ONLY $HOME"; echo no >&2; exit 4'), env })).toEqual({
      failed: true,
      wasKilled: false,
      exitCode: 4,
      stdout: `${folder}\nthis `,
      stderr: 'no',
      complaint: expect.stringMatching(/^Command failed with exit code 4: \/bin\/sh -c cat;/),
      isMissing: false,
    });
    expect(await runner()(shell('echo "ü\n"'))).toMatchObject({ failed: false, stdout: 'ü\n', complaint: null });
  });

  it('differs from one that cannot be started', async () => {
    const complaint = expect.stringMatching(/^Command failed with ENOENT: no-such-program -x\n/);
    const ran = await runner()({ command: 'no-such-program', args: ['-x'] });
    expect(ran).toMatchObject({ failed: true, wasKilled: false, exitCode: null, complaint, isMissing: true });
  });

  it('ends when the signal aborts', async () => {
    const abort = new AbortController();
    const ran = runner()(shell(LIVES), abort.signal);
    await isUp();
    abort.abort();
    expect(await ran).toMatchObject({ failed: true, wasKilled: true, exitCode: 3 });
    expect(await runner()(shell('touch late'), abort.signal)).toMatchObject({ failed: true, wasKilled: true });
    expect(existsSync(join(folder, 'late'))).toBe(false);
  });

  it('ends after its time, by SIGKILL if it ignores SIGTERM', async () => {
    const deaf = shell('trap "" TERM; touch up; while :; do sleep 0.05; done');
    const ran = await runner()({ ...deaf, timeoutMs: 500, graceMs: 100 });
    expect(ran).toMatchObject({ failed: true, wasKilled: true, exitCode: null });
    expect(ran.complaint).toContain('timed out after 500 milliseconds');
  });

  it('ends when it prints too much', async () => {
    const ran = await runner()({ ...shell('yes'), maxBytes: 100_000 });
    expect(ran).toMatchObject({ failed: true, wasKilled: true });
    expect(ran.stdout.length).toBeLessThanOrEqual(100_000);
  });

  it('is over once it is ended, even if a child holds its output open', async () => {
    const abort = new AbortController();
    const running = runner()(shell('sleep 600 & echo $!; touch up'), abort.signal);
    await isUp();
    abort.abort();
    const ran = await running;
    expect(ran).toMatchObject({ failed: true, wasKilled: true, stdout: expect.stringMatching(/^\d+$/) });
    process.kill(Number(ran.stdout), 'SIGKILL');
  });
});

it('starts jobs from another process, at most eight at once', async () => {
  const { run, pid } = setUp();
  expect(await pid()).not.toBe(process.pid);
  const job = shell('echo 1 >>log; while [ ! -e go ]; do sleep 0.02; done; echo -1 >>log');
  const all = Promise.all(Array.from({ length: 20 }, () => run(job)));
  const log = async () => (await readFile(join(folder, 'log'), 'utf8').catch(() => '')).split('\n').slice(0, -1);
  await expect.poll(async () => (await log()).length).toBeGreaterThanOrEqual(8);
  await writeFile(join(folder, 'go'), '');
  expect((await all).some(({ failed }) => failed)).toBe(false);
  let [atOnce, most] = [0, 0];
  for (const step of await log()) {
    atOnce += Number(step);
    most = Math.max(most, atOnce);
  }
  expect([most, atOnce]).toEqual([8, 0]);
});

it('fails the jobs of a killed spawner, and starts a new spawner', async () => {
  const { run, pid } = setUp();
  const first = await pid();
  const lost = run(shell('touch up; sleep 0.2'));
  await isUp();
  process.kill(first, 'SIGKILL');
  const complaint = 'The process in which Callboard starts programs has ended.';
  expect(await lost).toMatchObject({ failed: true, wasKilled: true, complaint });
  expect(await pid()).not.toBe(first);
});

it('ends when idle, and starts again for the next job', async () => {
  const { pid } = setUp({ idleMs: 1 });
  const first = await pid();
  await expect.poll(() => isGone(first)).toBe(true);
  expect(await pid()).not.toBe(first);
});

it('ends running jobs when stopped, and is gone afterwards', async () => {
  const { run, pid, stop } = setUp();
  const spawnerPid = await pid();
  const ran = run(shell(LIVES));
  await isUp();
  await stop();
  expect(await ran).toMatchObject({ failed: true, wasKilled: true, exitCode: 3 });
  expect(await isGone(spawnerPid)).toBe(true);
});

it('starts nothing after its parent was killed', async () => {
  const program = `
    import { createSpawner } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, 'processes.ts')).href)};
    const { run, detach } = createSpawner();
    const job = (script) => ({ command: '/bin/sh', args: ['-c', script], cwd: ${JSON.stringify(folder)}, env: {}, stdio: [] });
    console.log((await run(job('echo $PPID'))).stdout);
    process.stdin.once('data', () => {
      void run(job('touch ran'));
      void detach(job('touch detached'));
      setImmediate(() => console.log('sent'));
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = await once(child.stdout, 'data');
  process.kill(Number(line), 'SIGSTOP'); // plays a slow spawner
  child.stdin.write('go\n');
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
  process.kill(Number(line), 'SIGCONT');
  await expect.poll(() => isGone(Number(line))).toBe(true);
  expect(['ran', 'detached'].filter((name) => existsSync(join(folder, name)))).toEqual([]);
});

it('lets running jobs finish when its parent is killed', async () => {
  const program = `
    import { createSpawner } from ${JSON.stringify(pathToFileURL(join(import.meta.dirname, 'processes.ts')).href)};
    const { run } = createSpawner();
    const job = (script) => ({ command: '/bin/sh', args: ['-c', script], cwd: ${JSON.stringify(folder)} });
    console.log((await run(job('echo $PPID'))).stdout);
    await run(job('touch up; while [ ! -e go ]; do sleep 0.02; done; touch done'));`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  await isUp();
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(await isGone(Number(line))).toBe(false);
  await writeFile(join(folder, 'go'), '');
  await expect.poll(() => existsSync(join(folder, 'done'))).toBe(true);
  await expect.poll(() => isGone(Number(line))).toBe(true);
});

describe('a child that is supervised', () => {
  /** A process that has its programs started by this one, until it is killed. */
  function supervised(script: string) {
    const processes = pathToFileURL(join(import.meta.dirname, 'processes.ts')).href;
    const program = `
      import { detach, run, useSpawner } from ${JSON.stringify(processes)};
      const stop = useSpawner({ env: { PATH: '/usr/bin:/bin', ONLY: 'this' } });
      const job = (script) => ({ command: '/bin/sh', args: ['-c', script], cwd: ${JSON.stringify(folder)} });
      ${script}`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const isHosted = hostProgramsOf(child);
    const messages: unknown[] = [];
    child.on('message', (raw) => void messages.push(raw));
    return {
      child,
      isHosted,
      messages,
      line: async () => String((await once(child.stdout ?? child, 'data'))[0]).trim(),
    };
  }

  it('has its programs started by its supervisor, with its own environment and away from the terminal', async () => {
    const { child, isHosted, line } = supervised(`
      console.log((await run(job('echo $PPID $ONLY $HOME $(ps -o pgid= -p $$) $$'))).stdout);`);
    child.on('message', isHosted);
    const [parent, ...rest] = (await line()).split(/ +/);
    expect([Number(parent), rest[0], rest[1]]).toEqual([process.pid, 'this', rest[2]]);
  });

  it('lets running jobs finish when it is killed, and has nothing started that it asked for before', async () => {
    const { child, isHosted, messages } = supervised(`
      void run(job('touch up; while [ ! -e go ]; do sleep 0.02; done; touch done'));
      void run(job('touch ran'));
      void detach({ ...job('touch detached'), env: {}, stdio: [] });`);
    await expect.poll(() => messages.length).toBe(3);
    isHosted(messages[0]);
    await isUp();
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(messages.map(isHosted)).toEqual([true, true, true]);
    await writeFile(join(folder, 'go'), '');
    await expect.poll(() => existsSync(join(folder, 'done'))).toBe(true);
    expect(['ran', 'detached'].filter((name) => existsSync(join(folder, name)))).toEqual([]);
  });

  it('ends running jobs when it stops', async () => {
    const { child, isHosted, line } = supervised(`
      const ran = run(job(${JSON.stringify(LIVES)}));
      process.once('message', async () => {
        await stop();
        console.log(JSON.stringify(await ran));
      });`);
    child.on('message', isHosted);
    await isUp();
    child.send({ type: 'stop' });
    expect(JSON.parse(await line())).toMatchObject({ failed: true, wasKilled: true, exitCode: 3 });
  });
});

describe('a detached process', () => {
  const detached = (script: string) => ({
    ...shell(script),
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['in', 'out', 'errors'].map((name) => ({ path: join(folder, name), flags: 'a+' })),
  });

  it('gets the given files, and reports how it ended', async () => {
    const { detach } = setUp({ idleMs: 1 }); // the spawner stays while it has a child
    await writeFile(join(folder, 'in'), 'a line\n');
    const { identity, exit } = await detach(
      detached('read -r line; while [ ! -e go ]; do sleep 0.02; done; echo "got $line"; echo no >&2; exit 7'),
    );
    expect(identity).toMatchObject({ pid: expect.any(Number), startTime: expect.stringMatching(/^\d+$/) });
    await writeFile(join(folder, 'go'), '');
    expect(await exit).toEqual({ known: true, code: 7, signal: null });
    expect(await readFile(join(folder, 'out'), 'utf8')).toBe('got a line\n');
    expect(await readFile(join(folder, 'errors'), 'utf8')).toBe('no\n');
  });

  it('survives the end of the spawner, and then its own end is unknown', async () => {
    for (const ending of ['stopped', 'killed']) {
      const { detach, pid, stop } = setUp();
      const { identity, exit } = await detach(detached(LIVES));
      onTestFinished(() => void process.kill(identity.pid, 'SIGKILL'));
      await isUp();
      if (ending === 'stopped') await stop();
      else process.kill(await pid(), 'SIGKILL');
      expect(await exit).toEqual({ known: false });
      expect(await isAlive(identity)).toBe(true);
    }
  });

  it('rejects with the system error if it cannot be started', async () => {
    const { detach } = setUp();
    await expect(detach({ ...detached(''), command: '/no/such' })).rejects.toMatchObject({ code: 'ENOENT' });
    const stdio = [{ path: '/no/such/folder/in', flags: 'a' }];
    await expect(detach({ ...detached(''), stdio })).rejects.toThrow('/no/such/folder/in cannot be opened');
  });
});
