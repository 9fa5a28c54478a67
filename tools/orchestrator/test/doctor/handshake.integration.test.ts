import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { COMPILE_CACHE } from '../../../../test-support/compile-cache.ts';
import { REAL_CLAUDE } from '../../../../test-support/real-claude.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { until } from '../../../../test-support/until.ts';
import { variants } from '../../../../test-support/variants.ts';
import { HandshakeReport, isWhole, runHandshake } from '../../src/doctor/doctor.ts';
import { doctorsProcesses, fakeClaude, lyingClaude } from './fake-claude.ts';
import { LIES } from './lies.ts';

const PATH = '/usr/local/bin:/usr/bin:/bin';
/** Long enough for a busy machine. */
const PATIENT = { stepMs: 60_000, wholeMs: 170_000 };

let folder: string;
let tmp: string;
beforeEach(async () => {
  folder = await temporaryFolder();
  tmp = join(folder, 'tmp');
  await mkdir(tmp);
  vi.stubEnv('TMPDIR', tmp);
  onTestFinished(() => void vi.unstubAllEnvs());
});

/** Runs the handshake, and checks that nothing is left behind. */
async function shakeHands(claude: string, limits = PATIENT, signal = new AbortController().signal) {
  try {
    return await runHandshake({ claude, version: '2.1.330', path: PATH, signal, limits });
  } finally {
    expect(await doctorsProcesses(tmp)).toEqual([]);
    expect(await readdir(tmp)).toEqual([]);
  }
}

let saving: Promise<{ report: HandshakeReport; tookMs: number }> | undefined;

/** The report on the pinned CLI, which two tests need, and how long it took. */
function saved() {
  const shake = async () => {
    const before = performance.now();
    const report = await shakeHands(REAL_CLAUDE);
    return { report, tookMs: performance.now() - before };
  };
  saving ??= shake();
  return saving;
}

const verdicts = ({ checks }: HandshakeReport) => Object.fromEntries(checks.map(({ id, verdict }) => [id, verdict]));
const reasonOf = ({ checks }: HandshakeReport, id: string) => checks.find((check) => check.id === id)?.why;

describe('the handshake', () => {
  it('finds every promise kept by the pinned CLI', async () => {
    const { report } = await saved();
    expect(report.checks.filter(({ verdict }) => verdict !== 'yes')).toEqual([]);
    expect(isWhole(HandshakeReport.parse(report))).toBe(true);
    expect(report.checks).toHaveLength(20);
  });

  it('tells broken promises from kept ones', { timeout: 480_000 }, async () => {
    // Waits longer for missing events than this machine needs for all of those that do come: it may be busier now.
    const stepMs = 2_500 + Math.round((await saved()).tookMs);
    const reported = variants(Object.entries(LIES), 4);
    const claude = await lyingClaude(folder, reported.map(([lie]) => lie).join());
    const report = await shakeHands(claude, { stepMs, wholeMs: 300_000 });
    const truths = (await saved()).report.checks.map(({ id }) => [id, 'yes']);
    const broken = Object.assign({}, ...reported.map(([, { breaks }]) => breaks));
    expect(verdicts(report)).toEqual({ ...Object.fromEntries(truths), ...broken });
    for (const [, { breaks, why = /./ }] of reported)
      expect(reasonOf(report, Object.keys(breaks)[0] ?? '')).toMatch(why);
  });

  it.each([
    ['prints nothing', 'sleep 600', 2_000, /^timed out waiting for the reply to initialize$/],
    ['ends at once', 'exit 1', 30_000, /^it ended \(exit code 1\)/],
    [
      'refuses its arguments',
      'echo "error: unknown option" >&2; exit 1',
      30_000,
      /exit code 1\).*: error: unknown option$/,
    ],
    [
      'talks nonsense',
      'while read -r line; do echo "hello"; done',
      3_000,
      /it printed a line that is not JSON: "hello"$/,
    ],
    ['is not an executable of this system', '\u007fELF', 30_000, /could not be started|ended/],
  ])('ends soon with a program that %s', async (_what, script, stepMs, why) => {
    const claude = await fakeClaude(folder, script.startsWith('\u007f') ? script : `#!/bin/sh\n${script}\n`);
    const before = performance.now();
    const report = await shakeHands(claude, { stepMs, wholeMs: 170_000 });
    expect(performance.now() - before).toBeLessThan(stepMs + 30_000); // the wait does not repeat for each of the twenty promises
    const { initialize, ...others } = verdicts(report);
    expect(initialize).toBe('no');
    expect(new Set(Object.values(others))).toEqual(new Set(['untried']));
    expect(reasonOf(report, 'initialize')).toMatch(why);
  });

  it('tries nothing more once its time is up', async () => {
    const report = await shakeHands(REAL_CLAUDE, { stepMs: 60_000, wholeMs: 1 });
    expect(verdicts(report)).toMatchObject({ initialize: 'untried', end: 'untried' });
    expect(reasonOf(report, 'end')).toBe('the handshake ran out of time');
  });

  it('can be aborted in the middle', async () => {
    const stop = new AbortController();
    const claude = await fakeClaude(folder, '#!/bin/sh\nsleep 600\n');
    const stopped = shakeHands(claude, PATIENT, stop.signal);
    await until('it has started claude', async () => (await doctorsProcesses(tmp)).length > 0);
    stop.abort(new Error('enough'));
    await expect(stopped).rejects.toThrow('enough');
  });

  it('leaves nothing behind even if it is killed', async () => {
    const program = fileURLToPath(new URL('run-handshake.ts', import.meta.url));
    const env = { PATH, TMPDIR: tmp };
    const child = spawn(process.execPath, ['--import', COMPILE_CACHE, program, REAL_CLAUDE], { env, stdio: 'inherit' });
    const fromSources = { withinMs: 60_000 };
    await until('it has started claude', async () => (await doctorsProcesses(tmp)).length > 0, fromSources);
    child.kill('SIGKILL');
    await once(child, 'close');
    await until(
      'all is gone',
      async () => (await doctorsProcesses(tmp)).length === 0 && (await readdir(tmp)).length === 0,
    );
  });
});
