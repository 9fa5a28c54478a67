import { defineConfig } from 'vitest/config';

// Many of these tests start real processes, and a busy machine starts them slowly.
export default defineConfig({
  test: { testTimeout: 180_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } },
});
