/**
 * `npm run bench -- turn start --against before.json --json after.json`: runs the named benchmarks, or all, and prints the
 * results with their goals. Saves every run as JSON, by default in `bench-results/`. Fails if a figure is worse than in the
 * run in `recorded.json`; `--record` puts this run there instead.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { comparisonTable, goalsTable, parseFigures, Recorded, Results, regressionsTable } from './results.ts';

const root = join(import.meta.dirname, '../../..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, against: { type: 'string' }, record: { type: 'boolean', default: false } },
});
const here = process.env.INIT_CWD ?? process.cwd();
const at = new Date().toISOString();
const saved = resolve(here, values.json ?? join(root, 'bench-results', `${at.replaceAll(':', '-')}.json`));
// Read first, so that an unreadable file does not waste a whole run.
const before =
  values.against === undefined ? null : Results.parse(JSON.parse(readFileSync(resolve(here, values.against), 'utf8')));

const recordedFile = join(import.meta.dirname, 'recorded.json');
const recorded = Recorded.parse(JSON.parse(readFileSync(recordedFile, 'utf8')));
const load = (loadavg()[0] ?? Number.NaN) / availableParallelism();

const names = readdirSync(import.meta.dirname).flatMap((file) => /^(.+)\.bench\.ts$/.exec(file)?.[1] ?? []);
const unknown = positionals.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`Unknown benchmark: ${unknown.join(', ')}. Available: ${names.join(', ')}.`);
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'callboard-bench-results-'));
try {
  const files = positionals.map((name) => `/${name}.bench.ts`);
  const { status } = spawnSync('vitest', ['run', '--config', 'vitest.bench.config.ts', ...files], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, BENCH_RESULTS: folder },
  });
  const reported = readdirSync(folder).toSorted();
  const benches = Object.fromEntries(
    reported.map((file) => [basename(file, '.json'), parseFigures(readFileSync(join(folder, file), 'utf8'))]),
  );
  const commit = execFileSync('git', ['describe', '--always', '--dirty'], { cwd: root }).toString().trim();
  const results: Results = { at, commit, benches };
  mkdirSync(dirname(saved), { recursive: true });
  writeFileSync(saved, `${JSON.stringify(results, undefined, 2)}\n`);
  if (before !== null) {
    console.log(`Compared with ${before.commit} of ${before.at}`);
    console.table(comparisonTable(before.benches, benches));
  }
  console.log('Goals');
  console.table(goalsTable(benches));
  console.log(`Saved to ${saved}`);
  process.exitCode = status ?? 1;
  if (status === 0 && values.record) {
    for (const [bench, figures] of Object.entries(benches)) recorded[bench] = { at, commit, load, figures };
    writeFileSync(recordedFile, `${JSON.stringify(recorded, undefined, 2)}\n`);
    console.log(`Recorded in ${recordedFile}`);
  } else {
    const regressions = regressionsTable(recorded, benches);
    if (Object.keys(regressions).length > 0) {
      console.log('Worse than recorded by more than the noise of both runs');
      console.table(regressions);
      process.exitCode = 1;
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
