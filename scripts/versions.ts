/**
 * `npm run versions`: installs releases of Claude Code into a cache outside the repository, checks the promises of
 * `callboard doctor` and some integration tests with each, and writes the results.
 *
 * `-- --only 2.1.300,2.1.310` checks only these; `-- --no-tests` skips the integration tests; `-- --write` checks nothing and
 * rewrites the page from earlier results.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { OLDEST_CLAUDE, readFlags } from '../tools/orchestrator/src/core/claude/claude-program.ts';
import { missingFlags } from '../tools/orchestrator/src/core/claude/launch-options.ts';
import { type KnownVersion, KnownVersions, runHandshake } from '../tools/orchestrator/src/doctor/doctor.ts';
import { compatibilityChecks } from '../tools/orchestrator/src/doctor/promises.ts';
import { compareVersions } from '../tools/orchestrator/src/lib/text.ts';
import { versionsPage } from './versions-page.ts';

const PACKAGE = '@anthropic-ai/claude-code';
const FORTNIGHT_MS = 14 * 24 * 60 * 60 * 1_000;
const FORTNIGHTS = 13;
/** The last release of the previous line, for people who have not updated for long. */
const OLD = '2.0.77';
/** The disk space of one installed release, and the reserve for others. */
const ROOM_BYTES = 2_000_000_000;
const TESTS = ['first-session', 'protocol', 'approvals', 'queue', 'restart'].map((name) => `integration/${name}`);
const PATIENT = { stepMs: 30_000, wholeMs: 300_000 };

const root = join(import.meta.dirname, '..');
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'callboard', 'claude');
/** The results that Callboard ships, so that it need not check these versions again. */
const file = join(root, 'tools', 'orchestrator', 'src', 'doctor', 'known-versions.json');
const page = join(root, 'docs', 'cli-versions.md');

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    tests: { type: 'boolean', default: true },
    write: { type: 'boolean', default: false },
  },
  allowNegative: true,
});

const Manifest = z.object({ devDependencies: z.object({ [PACKAGE]: z.string() }) });
const pinned = Manifest.parse(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))).devDependencies[PACKAGE];

/** Returns the publication date of each release. A republished release has the later date, so dates alone do not order them. */
function publishedAt(): Map<string, string> {
  const { stdout, status } = spawnSync('npm', ['view', PACKAGE, 'time', '--json'], { encoding: 'utf8' });
  if (status !== 0) throw new Error('npm does not list the releases');
  const times = z.record(z.string(), z.string()).parse(JSON.parse(stdout));
  return new Map(Object.entries(times).filter(([version]) => /^\d+\.\d+\.\d+$/.test(version)));
}

/** Returns the pinned release, the newest one at each fortnight before it, and one that is too old. */
function chosen(times: ReadonlyMap<string, string>): string[] {
  const end = Date.parse(times.get(pinned) ?? '');
  if (Number.isNaN(end)) throw new Error(`npm does not know ${PACKAGE} ${pinned}`);
  const upTo = (day: number) =>
    [...times].flatMap(([version, at]) => (Date.parse(at) <= day ? [version] : [])).sort(compareVersions);
  const days = Array.from({ length: FORTNIGHTS + 1 }, (_, index) => end - index * FORTNIGHT_MS);
  return [...new Set([...days.flatMap((day) => upTo(day).at(-1) ?? []), OLD])];
}

/** Returns the program of a release; installs it if it is missing. */
function install(version: string): string {
  if (version === pinned) return join(root, 'node_modules', '.bin', 'claude');
  const folder = join(cache, version);
  const program = join(folder, 'node_modules', '.bin', 'claude');
  if (existsSync(program)) return program;
  mkdirSync(folder, { recursive: true });
  const { bavail, bsize } = statfsSync(folder);
  if (bavail * bsize < ROOM_BYTES) throw new Error(`too little disk space in ${cache}`);
  const manifest = { private: true, dependencies: { [PACKAGE]: version }, allowScripts: { [PACKAGE]: true } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  const options = ['--no-audit', '--no-fund', '--loglevel=error'];
  const { status } = spawnSync('npm', ['install', ...options], { cwd: folder, stdio: 'inherit' });
  if (status === 0 && existsSync(program)) return program;
  rmSync(folder, { recursive: true, force: true });
  throw new Error(`npm could not install ${PACKAGE} ${version}`);
}

const Report = z.object({
  numPassedTests: z.int(),
  testResults: z.array(z.object({ assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })) })),
});

function runTests(claude: string): KnownVersion['tests'] {
  const folder = mkdtempSync(join(tmpdir(), 'callboard-versions-'));
  const report = join(folder, 'report.json');
  const args = ['run', ...TESTS, '--reporter=json', `--outputFile=${report}`];
  try {
    spawnSync('vitest', args, { cwd: root, env: { ...process.env, CALLBOARD_TEST_CLAUDE: claude }, stdio: 'ignore' });
    const { numPassedTests, testResults } = Report.parse(JSON.parse(readFileSync(report, 'utf8')));
    const all = testResults.flatMap(({ assertionResults }) => assertionResults);
    return {
      passed: numPassedTests,
      failed: all.flatMap(({ status, fullName }) => (status === 'failed' ? [fullName] : [])),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function tryVersion(version: string, date: string): Promise<KnownVersion> {
  const claude = install(version);
  const path = process.env.PATH;
  const { signal } = new AbortController();
  const { checks } = await runHandshake({ claude, version, path, signal, limits: PATIENT });
  const reasonOf = (verdict: 'no' | 'untried') =>
    Object.fromEntries(checks.flatMap((check) => (check.verdict === verdict ? [[check.id, check.why ?? '']] : [])));
  const home = mkdtempSync(join(tmpdir(), 'callboard-versions-'));
  const without = missingFlags(await readFlags(claude, { PATH: path ?? '', HOME: home }));
  rmSync(home, { recursive: true, force: true });
  const isSupported = compareVersions(version, OLDEST_CLAUDE) >= 0;
  const tests = values.tests && isSupported ? runTests(claude) : null;
  return { version, date, broken: reasonOf('no'), untried: reasonOf('untried'), without, tests };
}

function readFound(): KnownVersions {
  if (existsSync(file)) return KnownVersions.parse(JSON.parse(readFileSync(file, 'utf8')));
  return { at: new Date().toISOString(), promises: [], versions: [] };
}

/** Called after each release, so that results are kept even if the next one fails. */
function save(found: KnownVersion): void {
  const others = readFound().versions.filter(({ version }) => version !== found.version);
  const versions = [...others, found].sort((a, b) => compareVersions(b.version, a.version));
  const promises = compatibilityChecks.map(({ id }) => id);
  writeFileSync(file, `${JSON.stringify({ at: new Date().toISOString(), promises, versions }, null, 2)}\n`);
  spawnSync('biome', ['format', '--write', file], { cwd: root, stdio: 'ignore' });
  writeFileSync(page, versionsPage(readFound(), pinned));
}

if (values.write) writeFileSync(page, versionsPage(readFound(), pinned));
else {
  const times = publishedAt();
  for (const version of values.only?.split(',') ?? chosen(times)) {
    const found = await tryVersion(version, (times.get(version) ?? new Date().toISOString()).slice(0, 10));
    save(found);
    const { broken, untried, tests } = found;
    const counts = `${Object.keys(broken).length} promises broken, ${Object.keys(untried).length} untried`;
    const ofTests = tests === null ? '' : `; tests: ${tests.passed} passed, ${tests.failed.length} failed`;
    console.log(`${version}: ${counts}${ofTests}`);
  }
}
