import { type CommandInput, NOBODY, type PendingRequest } from '@callboard/contract';
import { act, screen, within } from '@testing-library/react';
import { beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { at, board, decision, request, session, stage } from '../../test/samples.ts';
import { notify } from '../approvals/arming.ts';

const login = request('STAGE-1', 'r1', { createdAt: at(1) });
const search = request('STAGE-2', 'r2', { createdAt: at(2), input: { command: 'make' } });

/** Gives every row a place of its own on the screen, all of them in view: jsdom lays nothing out. */
function layOut(): void {
  const rows = () => [...document.querySelectorAll('main li')];
  vi.spyOn(Element.prototype, 'getBoundingClientRect').mockImplementation(function (this: Element) {
    const row = this.closest('li');
    return DOMRect.fromRect({ x: 0, y: row === null ? 0 : 100 * (1 + rows().indexOf(row)), width: 40, height: 20 });
  });
  document.elementFromPoint = (_x, y) => rows()[Math.floor(y / 100) - 1] ?? null;
  class Seen implements IntersectionObserver {
    readonly root = null;
    readonly rootMargin = '';
    readonly scrollMargin = '';
    readonly thresholds = [];
    readonly #tell: IntersectionObserverCallback;
    constructor(notify: IntersectionObserverCallback) {
      this.#tell = notify;
    }
    observe(target: Element): void {
      const rect = target.getBoundingClientRect();
      const entry = { target, isIntersecting: true, intersectionRatio: 1, time: performance.now() };
      const all = { ...entry, boundingClientRect: rect, intersectionRect: rect, rootBounds: null };
      queueMicrotask(() => this.#tell([all], this));
    }
    unobserve(): void {}
    disconnect(): void {}
    takeRecords(): IntersectionObserverEntry[] {
      return [];
    }
  }
  vi.stubGlobal('IntersectionObserver', Seen);
  onTestFinished(() => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
    Reflect.deleteProperty(document, 'elementFromPoint');
  });
}

beforeEach(layOut);

/** A board with two stages that ask, and nothing over it: this person has set both aside. */
async function openBoard(pending: PendingRequest[] = [login, search]) {
  const view = board({
    stages: ['Login form', 'Search index'].map((title, nth) => ({
      stage: stage(`STAGE-${nth + 1}`, { title }),
      session: session(`STAGE-${nth + 1}`, { state: 'waiting' }),
    })),
    pending,
  });
  const later = [login, search].map(({ stageId, requestId }) => ({ stageId, requestId, until: null }));
  const { user, server } = openPage('/', { ...view, me: { ...NOBODY, name: 'Ada', later } });
  const approve = ({ stageId, requestId, decision: verdict }: CommandInput<'approve_tool'>) => {
    const of = stageId === login.stageId ? login : search;
    return { decision: decision({ ...of, requestId }, { outcome: verdict === 'allow' ? 'allowed' : 'denied' }) };
  };
  server.answer({ approve_tool: approve });
  const column = within(await screen.findByRole('region', { name: 'Needs you' }));
  await column.findByText('Search index');
  await column.findAllByRole('button', { name: 'Allow' }); // what decides is loaded beside the rows
  const decided = () =>
    server.received.flatMap(({ command, input }) => (command === 'approve_tool' ? [JSON.stringify(input)] : []));
  /** The buttons whose keys work, as the page shows it. */
  const armed = () =>
    column
      .getAllByRole('button', { name: /^(Allow|Deny)$/ })
      .flatMap((button) => button.getAttribute('aria-keyshortcuts') ?? []);
  return { user, server, column, decided, armed };
}

const inHand = () => document.activeElement?.textContent;
const sent = (of: PendingRequest, verdict: 'allow' | 'deny') =>
  JSON.stringify({ stageId: of.stageId, requestId: of.requestId, decision: verdict });

it.each([
  ['allows', 'a', 'allow'],
  ['denies', 'd', 'deny'],
] as const)('%s the request of the row in hand with %s, once the button shows it', async (_does, key, verdict) => {
  const { user, decided, armed } = await openBoard();
  await user.keyboard('j');
  await expect.poll(inHand).toBe('Login form');
  await user.keyboard('j');
  await expect.poll(inHand).toBe('Search index');
  await user.keyboard(key); // it was drawn for a key just now
  expect(decided()).toEqual([]);
  await expect.poll(armed).toEqual(['d', 'a']);
  await user.keyboard(key);
  await expect.poll(decided).toEqual([sent(search, verdict)]);
});

it('decides nothing with A and D while no row is in hand', async () => {
  const { user, decided, armed } = await openBoard();
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + 5_000);
  act(() => notify({ type: 'passed' })); // a form would be armed by now
  expect(armed()).toEqual([]);
  await user.keyboard('ad');
  expect(decided()).toEqual([]);
});

it('decides nothing that came to the row in hand after a person moved there', async () => {
  const { user, server, decided, armed } = await openBoard();
  await user.keyboard('j');
  await expect.poll(armed).toEqual(['d', 'a']);
  server.emit('approval-resolved', decision(login));
  const next = request('STAGE-1', 'r9', { createdAt: at(9), input: { command: 'rm -r build' } });
  server.emit('approval-requested', next);
  server.emit('later-updated', { stageId: next.stageId, requestId: next.requestId, person: 'Ada', later: null });
  await screen.findAllByText('rm -r build');
  await user.keyboard('a');
  expect(decided()).toEqual([]);
});
