import {
  type BoardView,
  DEFAULT_ALERTS,
  type Me,
  MessageId,
  type PendingRequest,
  ProjectId,
} from '@callboard/contract';
import { act, screen, within } from '@testing-library/react';
import { expect, it, onTestFinished } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { problem } from '../../test/page-server.ts';
import { at, board, decision, request, session, stage } from '../../test/samples.ts';
import { useInboxPicks } from './inbox-items.ts';

const ADA: Me = { name: 'Ada', presentation: 'overlay', later: [], alerts: DEFAULT_ALERTS };
const TITLES = ['Login form', 'Search index', 'Footer', 'Header'];
const DELETES = [{ code: 'deletes' as const, text: 'Deletes dist.', command: null }];

/** Four stages: the first three ask the same, the fourth for something else. The ids are the test's own. */
function asking(name: string): { view: BoardView; pending: PendingRequest[] } {
  const commands = ['npm i', 'npm i', 'npm i', 'rm -r dist'];
  const pending = commands.map((command, nth) =>
    request(`STAGE-${nth + 1}`, `${name}-${nth + 1}`, {
      input: { command, description: `For ${nth}` },
      createdAt: at(nth),
      suggestions: [],
      stakes: nth === 3 ? DELETES : [],
    }),
  );
  const stages = TITLES.map((title, nth) => ({
    stage: stage(`STAGE-${nth + 1}`, { title, projectId: nth < 2 ? 'web' : 'api' }),
    session: session(`STAGE-${nth + 1}`, { state: 'waiting' }),
  }));
  return { view: { ...board({ stages, pending }), me: ADA }, pending };
}

type Observed = { notify: (isIntersecting: boolean) => void; element: Element };

/** What comes into sight is told by the test; buttons are always in sight. */
function watchSight(): { see: (key: string) => Promise<void> } {
  const observed = new Set<Observed>();
  const Real = globalThis.IntersectionObserver;
  class Reported extends Real {
    readonly #callback: IntersectionObserverCallback;
    constructor(callback: IntersectionObserverCallback) {
      super(callback);
      this.#callback = callback;
    }
    override observe(element: Element): void {
      const notify = (isIntersecting: boolean) =>
        this.#callback([Object.assign(Object.create(null), { isIntersecting, intersectionRatio: 1 })], this);
      if (element.hasAttribute('data-end-of')) observed.add({ notify, element });
      else notify(true);
    }
  }
  globalThis.IntersectionObserver = Reported;
  // Nothing covers the one form there is.
  document.elementFromPoint = () => document.querySelector('[data-request-place]');
  onTestFinished(() => {
    Reflect.deleteProperty(document, 'elementFromPoint');
    globalThis.IntersectionObserver = Real;
    useInboxPicks.getState().clear();
  });
  const endOf = (key: string) =>
    [...observed].filter(({ element }) => element.getAttribute('data-end-of') === key && element.isConnected);
  return {
    async see(key) {
      await expect.poll(() => endOf(key).length).toBeGreaterThan(0);
      act(() => {
        for (const { notify } of endOf(key)) notify(true);
      });
      await expect.poll(() => useInboxPicks.getState().looked.has(key)).toBe(true);
    },
  };
}

function open(path: string, view: BoardView) {
  const sight = watchSight();
  const { user, server } = openPage(path, view);
  server.answer({
    get_drafts: () => ({ drafts: [] }),
    approve_tool: ({ requestId }) => {
      const of = view.pending.find((one) => one.requestId === requestId);
      return of === undefined ? problem('unknown_request', 'No such request.') : { decision: decision(of) };
    },
  });
  const sent = () => server.received.flatMap(({ command, input }) => (command === 'approve_tool' ? [input] : []));
  return { ...sight, user, server, sent };
}
const key = (nth: number, name: string) => `STAGE-${nth}/${name}-${nth}`;
const isOff = (button: HTMLElement) =>
  button.hasAttribute('disabled') || button.getAttribute('aria-disabled') === 'true';
const shownRows = () =>
  TITLES.filter((title) =>
    screen.queryAllByRole('link', { name: new RegExp(`^${title}`) }).some((link) => link.hasAttribute('data-row')),
  );

it('decides equal requests together only after each was looked at, each by a decision of its own', async () => {
  const { view } = asking('together');
  const { user, see, sent, server } = open('/inbox', view);
  await user.click(await screen.findByRole('button', { name: 'Look at all 3' }));
  const list = within(await screen.findByRole('list', { name: 'Selected requests' }));
  const items = list.getAllByRole('listitem');
  expect(items.map(({ textContent }) => textContent?.includes('npm i'))).toEqual([true, true, true]);
  const allow = screen.getByRole('button', { name: /^Allow all 3/ });
  await see(key(1, 'together'));
  await see(key(2, 'together'));
  await screen.findByText('2 of 3 looked at');
  expect(isOff(allow)).toBe(true);
  await see(key(3, 'together'));
  await screen.findByText('All 3 looked at');
  await expect.poll(() => isOff(allow)).toBe(false);
  const rules = ['Bash(npm i)'];
  const offersOf: string[] = [];
  server.answer({
    get_rule_offer: ({ stageId, requestId }) => {
      if (requestId.startsWith('together')) offersOf.push(stageId);
      return { offer: { projectId: ProjectId.parse('api'), stageId, rules, times: 3 } };
    },
    approve_tool: ({ requestId }) => {
      const of = view.pending.find((one) => one.requestId === requestId);
      if (of === undefined || requestId === 'together-2') return problem('already_decided', 'It was denied by Bo.');
      return { decision: decision(of) };
    },
  });
  await user.click(allow);
  const report = within(await screen.findByText('2 requests allowed, 1 not.').then((one) => one.closest('div') ?? one));
  report.getByText('Login form: allowed');
  report.getByText(/^Search index: .*It was denied by Bo\./);
  report.getByText('Footer: allowed');
  const ids = [1, 2, 3].map((nth) => ({ stageId: `STAGE-${nth}`, requestId: `together-${nth}`, decision: 'allow' }));
  expect(sent()).toEqual(expect.arrayContaining(ids));
  expect(sent()).toHaveLength(3);
  await screen.findByRole('form', { name: /^Header/ });
  // In each project once.
  await screen.findByRole('button', { name: 'Make it a rule …' });
  expect(offersOf.filter((stageId) => stageId !== 'STAGE-4').toSorted()).toEqual(['STAGE-1', 'STAGE-3']);
});

it('a tap on the button for all holds each answer back, and Undo takes all of them back', async () => {
  const { view, pending } = asking('tap-all');
  const { user, see, sent, server } = open('/inbox', view);
  server.answer({
    approve_tool: () => ({ heldUntil: at(60) }),
    take_back_answer: ({ requestId }) => {
      const of = pending.find((one) => one.requestId === requestId);
      return of === undefined ? problem('unknown_request', 'No such request.') : { request: of };
    },
  });
  await user.click(await screen.findByRole('button', { name: 'Look at all 3' }));
  for (const nth of [1, 2, 3]) await see(key(nth, 'tap-all'));
  const allow = screen.getByRole('button', { name: /^Allow all 3/ });
  await expect.poll(() => isOff(allow)).toBe(false);
  await user.pointer({ keys: '[TouchA]', target: allow });
  await screen.findByText('3 allowed');
  expect(sent()).toMatchObject([{ hold: true }, { hold: true }, { hold: true }]);
  expect(shownRows()).toEqual(['Header']);
  await user.click(screen.getByRole('button', { name: 'Undo' }));
  await expect.poll(shownRows).toEqual(TITLES);
  const rewound = server.received.filter(({ command }) => command === 'take_back_answer');
  expect(rewound).toHaveLength(3);
  expect(screen.queryByText(/requests? allowed/)).toBeNull();
});

it('picks by keyboard, and decides what was picked once each was looked at', async () => {
  const { view } = asking('keys');
  const { user, see, sent } = open('/inbox', view);
  await screen.findByRole('form', { name: /^Login form/ });
  await user.keyboard('x');
  await screen.findByText('1 picked: pick another to decide both');
  await user.keyboard('jjjx');
  await screen.findByRole('heading', { name: '2 requests in 2 stages' });
  await user.keyboard('a');
  await see(key(1, 'keys'));
  await user.keyboard('d');
  expect(sent()).toEqual([]);
  await see(key(4, 'keys'));
  const deny = screen.getByRole('button', { name: /^Deny all 2/ });
  await expect.poll(() => deny.getAttribute('aria-keyshortcuts')).toBe('d');
  await user.keyboard('d');
  await expect.poll(sent).toHaveLength(2);
  expect(sent()).toMatchObject([
    { requestId: 'keys-1', decision: 'deny' },
    { requestId: 'keys-4', decision: 'deny' },
  ]);

  // Shift+X picks all equal ones; S sets all of them aside; Escape ends it.
  await user.keyboard('{Shift>}X{/Shift}');
  await screen.findByRole('heading', { name: '2 requests in 2 stages' });
  await user.keyboard('{Escape}');
  await expect.poll(() => screen.queryByRole('heading', { name: '2 requests in 2 stages' })).toBeNull();
});

it('shows each of them in whole, however long it is', async () => {
  const { view } = asking('whole');
  const command = Array.from({ length: 300 }, (_, nth) => `echo line-${nth}`).join('\n');
  const pending = view.pending.map((one) => ({ ...one, input: { command } }));
  const { user } = open('/inbox', { ...view, pending });
  expect((await screen.findByRole('form', { name: /^Login form/ })).textContent).not.toContain('line-150');
  await user.click(await screen.findByRole('button', { name: 'Look at all 3' }));
  const items = within(await screen.findByRole('list', { name: 'Selected requests' })).getAllByRole('listitem');
  expect(items.map(({ textContent }) => textContent?.includes('line-150'))).toEqual([true, true, true]);
});

it('sets what was picked aside together', async () => {
  const { view } = asking('later');
  const { user, server } = open('/inbox', view);
  server.answer({
    set_later: ({ requestId, stageId = view.pending[0]?.stageId }) => ({
      later: stageId === undefined ? null : { stageId, requestId, until: null },
    }),
  });
  await user.click(await screen.findByRole('button', { name: 'Look at all 3' }));
  const actions = within(
    await screen.findByRole('list', { name: 'Selected requests' }).then((list) => list.parentElement ?? list),
  );
  await user.click(actions.getByRole('button', { name: 'Snooze' }));
  const later = within(await screen.findByRole('region', { name: 'Snoozed' }));
  await expect.poll(() => later.getAllByRole('link')).toHaveLength(3);
  expect(screen.queryByRole('list', { name: 'Selected requests' })).toBeNull();
});

it('filters by kind and risk in the address, which each row keeps, and counts what is hidden', async () => {
  const { view } = asking('filter');
  const { user } = open('/inbox?risk=deletes', view);
  await screen.findByText('1 of 4 shown');
  expect(shownRows()).toEqual(['Header']);
  const risk = screen.getByRole('combobox', { name: 'Risk' });
  expect(
    within(risk)
      .getAllByRole('option')
      .map(({ textContent }) => textContent),
  ).toEqual(['All risks', 'Deletes (1)', 'Nothing known (3)']);
  await user.selectOptions(risk, 'none');
  expect(shownRows()).toEqual(TITLES.slice(0, 3));
  await user.keyboard('j');
  await expect.poll(() => location.search).toContain('risk=none');
  await user.click(screen.getByRole('button', { name: 'Show all' }));
  expect(shownRows()).toEqual(TITLES);
});

it('goes through the inbox by keyboard: denies one, the next follows, continues what has stopped, and opens a stage', async () => {
  const { view, pending } = asking('walk');
  const lastTurn = { outcome: 'failed', message: 'No access', at: at(9), code: null };
  const failed = session('STAGE-9', { state: 'idle', lastTurn });
  const more = board({ stages: [{ stage: stage('STAGE-9', { title: 'Nightly export' }), session: failed }], pending });
  const { user, sent, server } = open('/inbox', { ...view, stages: [...view.stages, ...more.stages] });
  server.answer({ send_message: ({ messageId }) => ({ status: 'sent', messageId: MessageId.parse(messageId) }) });
  await screen.findByRole('form', { name: /^Login form/ });
  await user.keyboard('j');
  await screen.findByRole('form', { name: /^Search index/ });
  await user.keyboard('{ArrowDown}{ArrowDown}');
  await screen.findByRole('form', { name: /^Header/ });
  await user.keyboard('kkk');
  const form = within(await screen.findByRole('form', { name: /^Login form/ }));
  const deny = form.getByRole('button', { name: 'Deny' });
  await expect.poll(() => deny.getAttribute('aria-keyshortcuts')).toBe('d');
  await user.keyboard('d');
  await expect.poll(sent).toMatchObject([{ requestId: 'walk-1', decision: 'deny' }]);
  await screen.findByRole('form', { name: /^Search index/ });

  await user.keyboard('jjj');
  const article = within(await screen.findByRole('article', { name: 'Nightly export' }));
  article.getByText('Last turn failed');
  const resume = article.getByRole('button', { name: /^Continue/ });
  await expect.poll(() => resume.getAttribute('aria-keyshortcuts')).toBe('a');
  await user.keyboard('a');
  const messages = () => server.received.filter(({ command }) => command === 'send_message');
  await expect.poll(messages).toMatchObject([{ input: { stageId: 'STAGE-9' } }]);

  server.answer({ get_transcript: () => ({ entries: [], total: 0 }) });
  await user.keyboard('k');
  await screen.findByRole('form', { name: /^Header/ });
  await user.keyboard('{Enter}');
  await expect.poll(() => location.pathname).toBe('/stages/STAGE-4');
});
