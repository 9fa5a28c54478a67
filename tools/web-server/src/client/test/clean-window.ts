import { cleanup, configure } from '@testing-library/react';
import { afterAll, afterEach, beforeEach, vi } from 'vitest';
import { WAIT_MS } from '../../../../../test-support/until.ts';

// As long as every wait of the other tests, and without the whole page in the error.
configure({ asyncUtilTimeout: WAIT_MS, getElementError: (message) => new Error(message ?? 'Not found') });

/** The files of a process share a window: each test finds it empty, as if nobody had used it before. */
beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
  history.replaceState(null, '', '/');
});
afterEach(cleanup);
// What the page's own modules keep is gone with the last test of a file; what is installed stays loaded.
afterAll(() => void vi.resetModules());
