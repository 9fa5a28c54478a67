import { defineConfig } from 'vitest/config';

// On a machine that does ten things at once a step takes ten times as long. Nothing here is waited for if it comes sooner.
const patience = { testTimeout: 180_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } };
const inBrowser = { include: ['*.e2e.test.ts'], ...patience, testTimeout: 300_000 };

/** All tests of the workspace in one run. Two workers: the real `claude` and Chromium want the machine as well. */
export default defineConfig({
  test: {
    maxWorkers: 2,
    projects: [
      ...['contract', 'orchestrator', 'web-server', 'cli', 'scripted-model'].map((name) => ({
        test: { name, root: `tools/${name}`, ...patience },
      })),
      { test: { name: 'docs', root: 'scripts' } },
      { test: { name: 'e2e', root: 'e2e', ...inBrowser } },
      // The only tests that may be tried a second time, and `npm test` names those that were (decision 030).
      { test: { name: 'pages', root: 'e2e/pages', ...inBrowser, retry: 1 } },
    ],
  },
});
