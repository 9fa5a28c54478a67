import { notifications } from '@mantine/notifications';
import { cleanup, configure } from '@testing-library/react';
import { afterAll, afterEach, beforeEach, vi } from 'vitest';
import type { StateCreator } from 'zustand';
import { WAIT_MS } from '../../../../../test-support/until.ts';
import { inNewTab } from './stores.ts';

vi.mock('zustand', async (original) => {
  const zustand = await original<typeof import('zustand')>();
  const { remembered } = await import('./stores.ts');
  return { ...zustand, create: <T>(initial: StateCreator<T>) => remembered(zustand.create(initial), initial) };
});
vi.mock('zustand/vanilla', async (original) => {
  const zustand = await original<typeof import('zustand/vanilla')>();
  const { remembered } = await import('./stores.ts');
  return {
    ...zustand,
    createStore: <T>(initial: StateCreator<T>) => remembered(zustand.createStore(initial), initial),
  };
});

// As long as every wait of the other tests, and without the whole page in the error.
configure({ asyncUtilTimeout: WAIT_MS, getElementError: (message) => new Error(message ?? 'Not found') });

/** The files of a process share a window: each test finds it empty, as if nobody had used it before. */
function empty(): void {
  localStorage.clear();
  sessionStorage.clear();
  history.replaceState(null, '', '/');
  // Messages in the corner are kept by Mantine, not by the page.
  notifications.cleanQueue();
  notifications.clean();
  inNewTab();
}
beforeEach(empty);
afterEach(cleanup);
// What the page's own modules keep is gone with the last test of a file; what is installed stays loaded. Modules read the
// storage as they are loaded, which is before the first test.
afterAll(() => {
  empty();
  vi.resetModules();
});
