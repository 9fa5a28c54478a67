import { afterAll } from 'vitest';
import { closeBrowsers } from '../../../e2e/support/browser.ts';

afterAll(closeBrowsers);
