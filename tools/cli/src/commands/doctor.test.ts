import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createRepository } from '../../../../test-support/git.ts';
import { REAL_CLAUDE } from '../../../../test-support/real-claude.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { eventually } from '../../../../test-support/until.ts';
import { fixture, runProgram } from '../../test/cli-process.ts';
import { putProgram, SYSTEM_PATH } from '../../test/programs.ts';
import { runHere } from '../../test/run-here.ts';
import type { MachineCheck } from '../doctor/machine-checks.ts';
import { DoctorReport } from '../doctor/machine-checks.ts';

const ANY_PORTS = ['--port', '0', '--orchestrator-port', '0'];

let folder: string;
let dataDir: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  dataDir = join(folder, 'data');
  await mkdir(join(folder, 'tmp'));
  vi.stubEnv('TMPDIR', join(folder, 'tmp'));
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    expect(await readdir(join(folder, 'tmp'))).toEqual([]);
  });
});

/** Longer than the default limits, which are set by what a person likes to wait: the test machine may be busy. */
const handshakeLimits = { stepMs: 60_000, wholeMs: 170_000 };

/** Runs the doctor with an empty home and a login in the environment. */
function doctor(args: string[], env: Record<string, string> = {}) {
  const own = { PATH: SYSTEM_PATH, HOME: folder, ANTHROPIC_API_KEY: 'very-secret', ...env };
  return runHere(['doctor', '--data-dir', dataDir, ...ANY_PORTS, ...args], { env: own, home: folder, handshakeLimits });
}

async function examine(args: string[], env: Record<string, string> = {}) {
  const { out, err, exitCode } = await doctor(['--json', ...args], env);
  expect(err).toBe('');
  return { exitCode, examination: DoctorReport.parse(JSON.parse(out)) };
}

const verdictOf = (checks: MachineCheck[], id: string) => checks.find((check) => check.id === id)?.verdict;

it('finds no problem on a good machine, tries out the real claude, and saves the result', async () => {
  await mkdir(dataDir, { mode: 0o700 });
  const repo = await createRepository(join(folder, 'shop'), { 'README.md': '# Shop\n' });
  const { exitCode, examination } = await examine(['--claude', REAL_CLAUDE, '--repo', repo]);
  const { ok, checks, handshake, regression } = examination;
  expect(checks.filter(({ verdict }) => verdict === 'problem')).toEqual([]);
  expect(handshake?.checks.filter(({ verdict }) => verdict !== 'yes')).toEqual([]);
  expect([exitCode, ok, regression]).toEqual([0, true, null]);
  expect(await readdir(dataDir)).toEqual(['doctor.json']);
  const file = join(dataDir, 'doctor.json');
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ reports: [handshake] });
});

it('works without a data directory, and creates none', async () => {
  const { exitCode, examination } = await examine(['--claude', REAL_CLAUDE, '--no-handshake']);
  expect([exitCode, examination.ok, examination.handshake]).toEqual([0, true, null]);
  expect(await readdir(folder)).toEqual(['tmp']);
});

it('works beside a Callboard that runs on the data directory', async () => {
  await mkdir(dataDir, { mode: 0o700 });
  const program = runProgram(process.execPath, [fixture('callboard.js'), '--data-dir', dataDir, ...ANY_PORTS]);
  const port = await eventually(() => {
    const [, found] = /Callboard ready: http:\/\/127\.0\.0\.1:(\d+)/.exec(program.stdout()) ?? [];
    if (found === undefined) throw new Error('it is not ready');
    return found;
  });
  const { examination } = await examine(['--claude', REAL_CLAUDE, '--no-handshake', '--port', port]);
  const founds = Object.fromEntries(examination.checks.map(({ id, found }) => [id, found]));
  expect(founds.running).toBe(`runs on this data directory (process ${program.pid}, port ${port})`);
  expect(founds.port).toContain('used by the Callboard that runs on this data directory');
  program.child.kill('SIGTERM');
  expect(await program.ended).toBe(0);
});

it('exits with 1 on a problem, and skips the handshake without a claude', async () => {
  const args = ['--claude', join(folder, 'none'), '--repo', folder, '--agent-user', 'claude'];
  const { exitCode, examination } = await examine(args, { ANTHROPIC_API_KEY: '' });
  expect([exitCode, examination.ok, examination.handshake]).toEqual([1, false, null]);
  for (const id of ['claude', 'repo', 'agent-user']) expect(verdictOf(examination.checks, id)).toBe('problem');
  expect(verdictOf(examination.checks, 'login')).toBe('warning');
});

describe('with a claude that breaks its promises', () => {
  const earlier = { version: '2.1.330', at: '2030-01-01T00:00:00.000Z' };
  const saved = {
    id: 'initialize',
    sentence: 'answers the opening handshake',
    reliedOnFor: 'starting sessions at all',
    verdict: 'yes',
    why: null,
  };
  let claude: string;
  beforeEach(async () => {
    await mkdir(dataDir, { mode: 0o700 });
    await writeFile(join(dataDir, 'doctor.json'), JSON.stringify({ reports: [{ ...earlier, checks: [saved] }] }));
    const script = 'case "$1" in --version) echo "2.1.340 (Claude Code)";; *) echo "no such option" >&2; exit 1;; esac';
    claude = await putProgram(join(folder, 'bin'), 'claude', script);
  });

  it('exits with 1, and reports what an earlier version did', async () => {
    const { exitCode, examination } = await examine(['--claude', claude]);
    expect([exitCode, examination.ok]).toEqual([1, false]);
    expect(examination.checks.filter(({ verdict }) => verdict === 'problem')).toEqual([]);
    expect(examination.handshake?.checks[0]).toMatchObject({ id: 'initialize', verdict: 'no' });
    expect(examination.regression).toMatchObject({ since: '2.1.330', lost: [{ id: 'initialize' }] });
    const { reports } = JSON.parse(await readFile(join(dataDir, 'doctor.json'), 'utf8'));
    expect(reports.map(({ version }: { version: string }) => version)).toEqual(['2.1.340', '2.1.330']);
  });

  it('tells people about the broken promises', async () => {
    const { out } = await doctor(['--claude', claude]);
    expect(out).toContain(
      '2.1.340 no longer answers the opening handshake, as 2.1.330 did; Callboard relies on this for starting sessions at all.',
    );
    expect(out).toMatch(
      /^ {2}no {7}initialize {5}answers the opening handshake\n {26}why: it ended \(exit code 1\).*no such option$/m,
    );
    expect(out).toMatch(/Found \d+ problems? and .*; 19 promises could not be tried\.$/);
    expect(out).not.toContain('no problems');
  });
});

describe('what people read', () => {
  const args = ['--claude', REAL_CLAUDE, '--no-handshake'];
  const esc = String.fromCharCode(27);

  it('is aligned, says what to do, and contains no secret', async () => {
    const { out } = await doctor([...args, '--repo', '/nonexistent']);
    expect(out).toMatch(/^ {2}ok {7}Node {22}\d+\./m);
    expect(out).toMatch(/^ {2}problem {2}Repository {16}there is no folder \/nonexistent\n {37}do: /m);
    expect(out).toMatch(/\nFound 1 problem and no warnings\.$/);
    expect(out).not.toContain('very-secret');
    expect(out).not.toContain(esc);
  });

  it.each([
    [true, {}, true],
    [true, { NO_COLOR: '1' }, false],
    [true, { NO_COLOR: '' }, true],
    [false, {}, false],
  ])('has colours on a terminal (%s) with %j: %s', async (isTerminal, variables, expected) => {
    const env = { PATH: SYSTEM_PATH, HOME: folder, ANTHROPIC_API_KEY: 'x', ...variables };
    const options = ['doctor', '--data-dir', dataDir, ...ANY_PORTS, ...args];
    const { out } = await runHere(options, { env, home: folder, isTerminal });
    expect(out.includes(esc)).toBe(expected);
  });
});

it('stops before the end on a signal', async () => {
  const claude = await putProgram(
    join(folder, 'bin'),
    'claude',
    'case "$1" in --version) echo "2.1.340 (Claude Code)";; *) sleep 600;; esac',
  );
  const env = { PATH: SYSTEM_PATH, HOME: folder, TMPDIR: join(folder, 'tmp'), ANTHROPIC_API_KEY: 'x' };
  const options = ['doctor', '--data-dir', dataDir, ...ANY_PORTS, '--claude', claude];
  const program = runProgram(process.execPath, [fixture('callboard.js'), ...options], env);
  await eventually(() => expect(program.stdout()).toContain('What Callboard relies on'));
  program.child.kill('SIGINT');
  expect(await program.ended).toBe(1);
  expect(program.stderr()).toBe('callboard: stopped before all checks were done.\n');
});

it('refuses an option that it does not have', async () => {
  const { exitCode, err } = await doctor(['--max-parallel', '2']);
  expect(exitCode).toBe(2);
  expect(err).toContain('`callboard doctor` has no option --max-parallel.');
});
