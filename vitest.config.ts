import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { COMPILE_CACHE } from './test-support/compile-cache.ts';
import { WAIT_MS } from './test-support/until.ts';
import { ALL } from './test-support/variants.ts';

// A wait fails within 15 s (test-support/until.ts); the limits of whole tests are a backstop for a machine that does ten
// things at once.
const patience = {
  testTimeout: 180_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: WAIT_MS } },
  chaiConfig: { truncateThreshold: 0 }, // a message shows all of a list: `npm test` keeps nothing else of a first try
  execArgv: ['--import', COMPILE_CACHE], // for the threads of the index, which load what they are made of each time
};
/** One PostgreSQL for the run, started when the first test needs it. */
const sharedPostgres = inRoot('test-support/shared-postgres.ts');
const withPostgres = { globalSetup: [sharedPostgres] };
const inBrowser = {
  include: ['*.e2e.test.ts'],
  globalSetup: [inRoot('e2e/support/shared-instances.ts'), sharedPostgres],
  ...patience,
  testTimeout: 300_000,
};

/** Whether this is `npm test` without a path: with one, any scene can be run. */
const ONLY_MAIN = process.env.CALLBOARD_TEST_MAIN === '1';
/**
 * The scenes of `npm test` on the real CLI and in Chromium: one for each promise. All others run in `npm run test:all`, and in CI
 * when a change touches them (scripts/touched-tests.ts).
 */
const SCENES = {
  /** What proves that nothing is lost, doubled or run without a yes, with fixed seeds. These tests get one try: one failure in twenty is a failure. */
  durability: [
    ...['kill', 'replay', 'to-merged'].map((name) => `e2e/${name}.e2e.test.ts`),
    ...['cut-off-turn', 'full-disk', 'killed-and-ended', 'lost-answers', 'nothing-disappears'].map(integration),
    ...['power-cut', 'power-cut-moments', 'reboot', 'recovery', 'restart'].map(integration),
  ],
  integration: [
    ...['alarm', 'approvals', 'background-tasks', 'budgets', 'denials', 'elicitation', 'finishing', 'first-message'],
    ...[
      'going-back',
      'hooks',
      'killed-merge',
      'messages',
      'moving-in',
      'network',
      'protocol',
      'queue',
      'review',
      'rules',
    ],
    ...['sandbox', 'sessions', 'stages', 'terminal', 'trust', 'usage-limits', 'worktree-setup'],
  ].map((name) => `orchestrator/test/integration/${name}.integration.test.ts`),
  e2e: ['login', 'main-job', 'package', 'terminal'].map((name) => `${name}.e2e.test.ts`),
  pages: ['accessibility', 'arming', 'interaction', 'phone'].map((name) => `${name}.e2e.test.ts`),
};
/** The store on PostgreSQL, which few installations have; `npm test` tests the one in a file. */
const POSTGRES = ['src/!(copy-tables|new-epoch).test.ts'];
/** Chaos, whose strikes are random, belongs to them too. */
const DURABILITY = [...SCENES.durability, ...['chaos', 'cluster-chaos'].map((name) => `e2e/${name}.e2e.test.ts`)];
/** What `npm test` runs apart from the rest, in all variants. */
const apart = (process.env.CALLBOARD_TEST_APART ?? '').split(' ').filter(Boolean).map(inRoot);
const excluded = [...configDefaults.exclude, ...apart, ...(ONLY_MAIN ? ['**/new-kind.test.ts'] : [])];
const notDurability = [...excluded, ...DURABILITY.map((file) => `**/${basename(file)}`)];

function inRoot(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}

function integration(name: string): string {
  return `tools/orchestrator/test/integration/${name}.integration.test.ts`;
}

function inPages(name: string): string {
  return inRoot(`tools/web-server/src/client/test/${name}.ts`);
}

/** What takes longest goes first, so that nothing long runs alone at the end: these files, then the projects in this order. */
const MAX_LENGTH = /\/(arming-random|package|interaction|accessibility|new-kind|handshake\.integration|killed-merge)\./;
const PROJECTS = [
  ...[
    'durability',
    'e2e',
    'pages',
    'integration',
    'orchestrator',
    'store-postgres',
    'web-server',
    'cli',
    'scripted-model',
    'lab',
  ],
  ...['drawn', 'routes', 'docs', 'contract', 'runtime'],
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification) =>
      MAX_LENGTH.test(moduleId) ? -1 : PROJECTS.indexOf(project.name);
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

/**
 * All tests of the workspace in one run. Three workers keep two cores busy: the tests wait about a third of their time.
 * The files of a project share a process, which loads what they import once: that is worth a minute and a half of CPU.
 */
export default defineConfig({
  test: {
    maxWorkers: 3,
    isolate: false,
    // No test may need the one before it: `npm run test:all` runs the tests of each file in another order each time.
    sequence: { sequencer: LongestFirst, shuffle: { tests: ALL } },
    projects: [
      ...['runtime', 'contract', 'web-server', 'cli', 'scripted-model', 'lab'].map((name) => ({
        test: {
          name,
          root: `tools/${name}`,
          isolate: false,
          ...patience,
          ...withPostgres,
          exclude: [...excluded, '**/*.{page,drawn}.test.tsx'],
        },
      })),
      {
        test: {
          name: 'orchestrator',
          root: 'tools/orchestrator',
          isolate: false,
          ...patience,
          ...withPostgres,
          exclude: [...excluded, 'test/integration/**'],
        },
      },
      {
        test: {
          name: 'store-postgres',
          root: 'tools/store-postgres',
          isolate: false,
          ...patience,
          ...withPostgres,
          exclude: [...excluded, 'test/integration/**', ...(ONLY_MAIN ? POSTGRES : [])],
        },
      },
      // Whole routes of the page in jsdom. The files of a worker share a process and a window (docs/decisions/tests.md).
      ...[
        { name: 'routes', isolate: false, include: ['src/client/**/*.page.test.tsx'] },
        { name: 'drawn', isolate: true, include: ['src/client/**/*.drawn.test.tsx'] },
      ].map((project) => ({
        test: {
          ...project,
          root: 'tools/web-server',
          ...patience,
          environment: inPages('one-window'),
          setupFiles: [inPages('clean-window')],
        },
      })),
      { test: { name: 'docs', root: 'scripts', exclude: excluded, isolate: false, ...patience, ...withPostgres } },
      {
        test: {
          name: 'durability',
          root: '.',
          isolate: false,
          ...inBrowser,
          include: ONLY_MAIN ? SCENES.durability : DURABILITY,
          exclude: excluded,
        },
      },
      // Other tests on the real CLI or in Chromium may be tried a second time, and `npm test` names those that were (docs/decisions/tests.md).
      {
        test: {
          name: 'integration',
          root: 'tools',
          isolate: false,
          ...patience,
          ...withPostgres,
          retry: 1,
          include: ONLY_MAIN ? SCENES.integration : ['{orchestrator,store-postgres}/test/integration/**/*.test.ts'],
          exclude: notDurability,
        },
      },
      {
        test: {
          name: 'e2e',
          root: 'e2e',
          isolate: false,
          ...inBrowser,
          retry: 1,
          ...(ONLY_MAIN && { include: SCENES.e2e }),
          exclude: notDurability,
        },
      },
      {
        test: {
          name: 'pages',
          root: 'e2e/pages',
          isolate: false,
          ...inBrowser,
          retry: 1,
          ...(ONLY_MAIN && { include: SCENES.pages }),
          exclude: excluded,
        },
      },
    ],
  },
});
