import { afterAll } from 'vitest';
import { endFile } from './at-file-end.ts';
import { closeBrowsers } from './browser.ts';

// A setup file: it runs for each file of tests.
afterAll(async () => {
  await endFile();
  await closeBrowsers();
});
