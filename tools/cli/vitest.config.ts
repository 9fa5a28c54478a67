import { defineConfig } from 'vitest/config';

// Many of these tests start real processes, and a busy machine starts them slowly.
export default defineConfig({ test: { testTimeout: 30_000, hookTimeout: 30_000 } });
