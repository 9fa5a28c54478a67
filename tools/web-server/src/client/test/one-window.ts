import { builtinEnvironments, type Environment, type EnvironmentReturn } from 'vitest/runtime';

let opened: Promise<EnvironmentReturn> | undefined;

/**
 * A jsdom for all test files of a process: React, Mantine and the page are loaded once, and keep the window that they found.
 * `openPage` closes what a test opened, and `clean-window.ts` empties the rest before each test.
 */
const oneWindow: Environment = {
  name: 'one-window',
  viteEnvironment: 'client',
  async setup(global, options) {
    opened ??= open(global, options);
    await opened;
    return { teardown: () => undefined };
  },
};
export default oneWindow;

async function open(...given: Parameters<Environment['setup']>): Promise<EnvironmentReturn> {
  const window = await builtinEnvironments.jsdom.setup(...given);
  await import('./browser-parts.ts');
  return window;
}
