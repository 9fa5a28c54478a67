import type { BoardView } from '@callboard/contract';
import { cleanup, render } from '@testing-library/react';
import userEvent, { type UserEvent } from '@testing-library/user-event';
import { expect, onTestFinished, vi } from 'vitest';
import { WAIT_MS } from '../../../../../test-support/until.ts';
import { App } from '../app/app.tsx';
import { createQueryClient } from '../data/queries.ts';
import { startClock } from '../lib/hooks.ts';
import { startStream } from '../stream/start-stream.ts';
import { type PageServer, startPageServer } from './page-server.ts';
import { inNewTab } from './stores.ts';

/**
 * Opens a route of the whole page in jsdom: the real app, cache and event stream, with the server's answers from the test.
 * It has no layout, so nothing here can test what is visible, scrolled to, or under a pointer: that needs `e2e/pages`.
 * Everything is closed after the test.
 */
export function openPage(path: string, board: BoardView): { user: UserEvent; server: PageServer } {
  inNewTab();
  history.replaceState(null, '', path);
  const server = startPageServer(() => board);
  const cache = createQueryClient();
  const stream = startStream(cache);
  const stopClock = startClock();
  render(<App cache={cache} stream={stream} />);
  onTestFinished(async () => {
    cleanup();
    stream.stop();
    stopClock?.();
    // What a page has still to send would reach the server of the next test: a closed page sends nothing.
    server.refuseAll();
    await vi.waitFor(() => expect(cache.isMutating() + server.underWay()).toBe(0), WAIT_MS);
    cache.clear();
    server.close();
    vi.unstubAllGlobals();
  });
  return { user: userEvent.setup(), server };
}
