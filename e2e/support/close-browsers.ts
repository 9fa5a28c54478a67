import { afterAll } from 'vitest';
import { closeBrowsers } from './browser.ts';

// A setup file: it is run for each file of tests.
afterAll(closeBrowsers);
