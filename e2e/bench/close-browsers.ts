import { afterAll } from 'vitest';
import { closeBrowsers } from '../support/browser.ts';

afterAll(closeBrowsers);
