/** `npm test`: installs what the tests need, runs every check and every test, and counts them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { isFresh } from '../tools/cli/bin/sources.js';
import { ensureChromium } from './chromium.ts';
import { ensureOlderNode } from './older-node.ts';
import { ensureSystemPackages } from './system-packages.ts';
import { ALL_VARIANTS, MAIN_SCENES, noteProven, touchedTests } from './touched-tests.ts';

const Test = z.object({ fullName: z.string(), status: z.string(), failureMessages: z.array(z.string()) });
const Report = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  success: z.boolean(),
  testResults: z.array(z.object({ name: z.string(), assertionResults: z.array(Test) })),
});

const root = join(import.meta.dirname, '..');
const count = { passed: 0, failed: 0 };
/** Tests that needed a second try, with their files. */
const unsteady: (z.infer<typeof Test> & { file: string })[] = [];

/** Checks that pass or fail as a whole, beside each other; what each prints comes when it is over. */
async function check(...scripts: string[]): Promise<void> {
  await Promise.all(
    scripts.map(async (script) => {
      const child = spawn('npm', ['run', '--silent', script], { stdio: ['ignore', 'pipe', 'pipe'] });
      const said: Buffer[] = [];
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => said.push(data));
      const [status] = await once(child, 'close');
      process.stdout.write(Buffer.concat(said));
      if (status === 0) count.passed += 1;
      else count.failed += 1;
    }),
  );
}

async function tests(args: string[], env: Record<string, string>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'callboard-report-'));
  const file = join(folder, 'report.json');
  const vitest = spawn('vitest', ['run', '--reporter=default', '--reporter=json', `--outputFile=${file}`, ...args], {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  try {
    const [status] = await once(vitest, 'close');
    const report = Report.parse(JSON.parse(readFileSync(file, 'utf8')));
    count.passed += report.numPassedTests;
    count.failed += report.numFailedTests;
    // A passed test that tells of a failure has passed at its second attempt.
    const all = report.testResults.flatMap(({ name, assertionResults }) =>
      assertionResults.map((one) => ({ ...one, file: relative(root, name) })),
    );
    unsteady.push(...all.filter(({ status, failureMessages }) => status === 'passed' && failureMessages.length > 0));
    // A file that could not be loaded, or a leak told after the last test, fails the run without failing a test.
    if ((status !== 0 || !report.success) && report.numFailedTests === 0) count.failed += 1;
  } catch {
    count.failed += 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The last lines before the count: what failed at the first attempt, then the list alone, so that nobody overlooks it. */
function reportUnsteady(): void {
  if (unsteady.length === 0) return;
  for (const { file, fullName, failureMessages } of unsteady)
    console.log(`First attempt of ${file} > ${fullName}:\n${failureMessages.join('\n')}\n`);
  const line = '='.repeat(80);
  const list = unsteady.map(({ file, fullName }) => `  ${file} > ${fullName}`);
  const count = unsteady.length === 1 ? '1 TEST' : `${unsteady.length} TESTS`;
  console.log([line, `${count} PASSED ONLY AT THE SECOND ATTEMPT. Each is a bug to find:`, ...list, line].join('\n'));
}

ensureChromium();
// Else the first tests that start Callboard would wait for it, at the same time.
if (!isFresh(root)) await check('build');
const missing = [...ensureSystemPackages(), ...(ensureOlderNode() ? [] : ['Node 24'])];
const given = process.argv.slice(2);
const isAll = process.env.CALLBOARD_TEST_ALL === '1';
const isWhole = given.length === 0 && (isAll || process.env.CI !== undefined);
// In CI nothing lands untested: what was changed is tested in all its scenes; their variants are for `npm run test:all`.
const touched = isAll ? 'all' : isWhole ? touchedTests() : [];
// The longest of the checks keeps one processor busy for half a minute: the tests use the other.
const checks = check('lint', 'types', 'dead-code');
if (given.length > 0) await tests(given, {});
else if (touched === 'all') await tests([], isAll ? ALL_VARIANTS : {});
else {
  await tests([], { ...MAIN_SCENES, CALLBOARD_TEST_APART: touched.join(' ') });
  if (touched.length > 0)
    await tests(
      touched.map((file) => join(root, file)),
      {},
    );
}
await checks;
for (const name of missing) console.log(`tests that need ${name} were skipped: it is not installed`);
if (isWhole && count.failed === 0 && missing.length === 0) noteProven();
reportUnsteady();
console.log(`${count.passed} passed, ${count.failed} failed`);
process.exitCode = count.failed === 0 && count.passed > 3 ? 0 : 1;
