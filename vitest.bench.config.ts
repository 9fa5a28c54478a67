import { defineConfig } from 'vitest/config';

/** `npm run bench`: measurements, each beside a baseline of the same run; kept out of the tests. */
export default defineConfig({
  test: {
    root: 'tools/lab',
    include: ['**/*.bench.ts'],
    setupFiles: ['bench/close-browsers.ts'],
    testTimeout: 300_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
});
