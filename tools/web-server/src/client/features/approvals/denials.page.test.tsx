import { type Decision, RequestId, StageId } from '@callboard/contract';
import { sampleDecision, sampleProject } from '@callboard/contract/samples';
import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openPage } from '../../test/open-page.tsx';
import { board, entry, session, stage } from '../../test/samples.ts';

const AT = '2026-01-01T14:05:00.000Z';
const stageId = StageId.parse('STAGE-1');
const place = { stageId, requestId: RequestId.parse('denied:t1') };
const openDenial = { source: 'mode', detail: 'dontAsk', asked: 'Bash npm test', at: AT, requestId: 'denied:t1' };
const lastTurn = { outcome: 'succeeded', message: null, at: AT, code: null };
const MAY = { rules: ['Bash(npm test)'], whyNot: null };
const WHY_NOT = { rules: [], whyNot: 'A deny rule overrides every allow rule.' };
const BUTTON = { name: 'Allow and try again' };

const deniedCall = (change: Record<string, unknown> = {}): Decision =>
  sampleDecision({
    ...place,
    toolUseId: 't1',
    asked: 'Bash npm test',
    outcome: 'denied',
    by: 'Claude Code',
    at: AT,
    waitedMs: 0,
    delivery: 'none',
    denial: { source: 'mode', detail: 'dontAsk' },
    ...change,
  });

/** Everything is in sight. */
function seeAll(): void {
  const Real = globalThis.IntersectionObserver;
  globalThis.IntersectionObserver = class extends Real {
    readonly #callback: IntersectionObserverCallback;
    constructor(callback: IntersectionObserverCallback) {
      super(callback);
      this.#callback = callback;
    }
    override observe(): void {
      this.#callback([Object.assign(Object.create(null), { isIntersecting: true, intersectionRatio: 1 })], this);
    }
  };
  onTestFinished(() => {
    globalThis.IntersectionObserver = Real;
  });
}

interface Given {
  /** Fields of the session; by default the denial was the last call. */
  summary?: Record<string, unknown>;
  decision?: Decision;
  retry?: typeof MAY | typeof WHY_NOT;
}

function open(path: string, { summary = { openDenial }, decision, retry = MAY }: Given = {}) {
  document.elementFromPoint = () => document.querySelector('[data-request-place]'); // nothing covers the one place there is
  onTestFinished(() => void Reflect.deleteProperty(document, 'elementFromPoint'));
  const own = {
    stage: stage('STAGE-1', { title: 'Login form' }),
    session: session('STAGE-1', { state: 'idle', lastTurn, ...summary }),
  };
  const seen = board({ stages: [own] });
  const page = openPage(path, { ...seen, projects: [sampleProject({ id: own.stage.projectId })] });
  const use = entry(1, 'tool-use', { toolUseId: 't1', toolName: 'Bash', input: { command: 'npm test' } });
  const entries = decision === undefined ? [] : [use, entry(2, 'decision', { decision })];
  page.server.answer({
    get_drafts: () => ({ drafts: [] }),
    get_transcript: () => ({ entries, total: entries.length }),
    get_denial_retry: () => ({ retry }),
    retry_denial: () => new Promise(() => undefined),
  });
  const sent = () => page.server.received.filter(({ command }) => command === 'retry_denial').map(({ input }) => input);
  return { ...page, sent };
}

/** A button decides half a second after it was drawn. */
async function ready(button: HTMLElement): Promise<HTMLElement> {
  await expect.poll(() => button.getAttribute('aria-disabled')).toBeNull();
  return button;
}

describe('a call that Claude Code denied', () => {
  it('is allowed and tried again in the head of its stage, once the button has stood for a moment', async () => {
    const { user, sent } = open('/stages/STAGE-1');
    const button = await screen.findByRole('button', BUTTON);
    fireEvent.click(button); // at once: on a busy machine the user's click would come when the button has stood long enough
    expect(sent()).toEqual([]);
    await user.click(await ready(button));
    await waitFor(() => expect(sent()).toEqual([place]));
    await user.click(button);
    expect(sent()).toHaveLength(1);
  });

  it.each([
    ['a press', '[MouseLeft>]', '[/MouseLeft]'],
    ['the space bar', '[Space>]', '[/Space]'],
  ])('is not allowed by %s that began before its button had stood for a moment', async (_, down, up) => {
    const { user, sent } = open('/stages/STAGE-1');
    const button = await screen.findByRole('button', BUTTON);
    button.focus();
    const isPress = down.startsWith('[Mouse');
    const act = (keys: string) => (isPress ? user.pointer({ keys, target: button }) : user.keyboard(keys));
    await act(down);
    expect(button.getAttribute('aria-disabled')).toBe('true');
    await ready(button);
    await act(up);
    expect(sent()).toEqual([]);
    await act(down);
    await act(up);
    await waitFor(() => expect(sent()).toEqual([place]));
  });

  it('is not allowed by a key that is held down, only by one that went down on its button', async () => {
    const { user, sent } = open('/stages/STAGE-1');
    const button = await screen.findByRole('button', BUTTON);
    button.focus();
    const press = (repeat: boolean) => {
      fireEvent.keyDown(button, { key: 'Enter', repeat });
      fireEvent.click(button, { detail: 0 }); // as a browser clicks at each of them
    };
    press(false);
    press(true);
    await ready(button);
    press(true);
    press(true);
    expect(sent()).toEqual([]);
    await user.keyboard('{Enter}');
    await waitFor(() => expect(sent()).toEqual([place]));
  });

  it('is allowed on its line of the transcript, also while Claude works on something else', async () => {
    const { user, sent, server } = open('/stages/STAGE-1', {
      summary: { state: 'busy', openDenial: null },
      decision: deniedCall(),
    });
    await user.click(await ready(await screen.findByRole('button', BUTTON)));
    await waitFor(() => expect(sent()).toEqual([place]));
    const settlement = { how: 'retried', by: 'Bo', at: AT } as const;
    server.emit('decision-updated', deniedCall({ settlement }));
    await screen.findByText(/^Bo allowed it/);
    expect(screen.queryByRole('button', BUTTON)).toBeNull();
  });

  it('says on its line why it cannot be allowed', async () => {
    open('/stages/STAGE-1', { summary: { openDenial: null }, decision: deniedCall(), retry: WHY_NOT });
    await screen.findByText(WHY_NOT.whyNot);
    expect(screen.queryByRole('button', BUTTON)).toBeNull();
  });

  it('is allowed from the row of its stage on the board, where the row shows it in whole', async () => {
    const { user, sent } = open('/');
    const row = within(await screen.findByRole('article', { name: 'Login form' }));
    await user.click(await ready(await row.findByRole('button', BUTTON)));
    await waitFor(() => expect(sent()).toEqual([place]));
  });

  it('has no button on a row that has no room for it, and says so where it cannot be allowed', async () => {
    const { server } = open('/', { retry: WHY_NOT });
    const row = within(await screen.findByRole('article', { name: 'Login form' }));
    expect((await row.findByText('cannot be allowed here')).title).toBe(WHY_NOT.whyNot);
    const long = { ...openDenial, asked: `Bash ${'npm test '.repeat(20)}` };
    server.emit('session-updated', session('STAGE-1', { state: 'idle', lastTurn, openDenial: long }));
    await waitFor(() => expect(row.queryByText('cannot be allowed here')).toBeNull());
    row.getByRole('button', { name: 'Seen' });
  });

  it('is allowed in the inbox by its button, or by its key once a person has turned to it', async () => {
    seeAll();
    const { user, sent } = open('/inbox');
    const button = await screen.findByRole('button', BUTTON);
    await user.keyboard('t');
    expect(sent()).toEqual([]); // nobody has looked at it yet
    await user.click(screen.getByRole('link', { name: /Login form/ }));
    await expect.poll(() => button.getAttribute('aria-keyshortcuts')).toBe('t');
    await ready(button);
    await user.keyboard('t');
    await waitFor(() => expect(sent()).toEqual([place]));
  });

  it('is not allowed in the inbox by a key or a press that was meant for what stood there before its button', async () => {
    seeAll();
    const { user, sent, server } = open('/inbox');
    let notify: () => void = () => undefined;
    const known = new Promise<void>((resolve) => {
      notify = resolve;
    });
    server.answer({ get_denial_retry: () => known.then(() => ({ retry: MAY })) });
    const seen = await screen.findByRole('button', { name: /Seen/ });
    await user.click(screen.getByRole('link', { name: /Login form/ }));
    await expect.poll(() => seen.getAttribute('aria-keyshortcuts')).toBe('a');
    notify();
    const button = await screen.findByRole('button', BUTTON);
    await user.keyboard('t');
    await user.click(button);
    expect(sent()).toEqual([]);
    await expect.poll(() => button.getAttribute('aria-keyshortcuts')).toBe('t');
    await user.keyboard('t');
    await waitFor(() => expect(sent()).toEqual([place]));
  });

  it('says in the inbox why it cannot be allowed', async () => {
    open('/inbox', { retry: WHY_NOT });
    await screen.findByText(WHY_NOT.whyNot);
    expect(screen.queryByRole('button', BUTTON)).toBeNull();
    screen.getByRole('button', { name: /Seen/ });
  });
});
