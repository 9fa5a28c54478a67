import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { callApi } from '../support/api.ts';
import { choosePresentation } from '../support/presentation.ts';
import { apiOf } from '../support/scene.ts';
import { createInstance } from '../support/shared-instance.ts';
import type { TestBoard } from '../support/test-board.ts';
import { type Act, type Sent, type Witness, witness } from '../support/witness.ts';

const bash = (command: string) => ({ tools: [{ name: 'Bash', input: { command, description: 'Do it' } }] });
const SEED = Number(process.env.CALLBOARD_SEED ?? '20261122');
/** How requests present themselves, by its words in the account's menu, and how many things are done. */
const WAYS = [
  ['Over the page', 90],
  ['Beside the page', 60],
  ['Only a card in the corner', 90], // it decides less often: somebody has to turn to a card first
] as const;
/** Tolerance of about one frame between drawing and seeing. */
const FRAME_MS = 40;

/** The same numbers for the same seed. */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Why this answer should not have been sent; null if it was allowed. */
function fault(sent: Sent, command: string, acts: readonly Act[]): string | null {
  const act = acts[sent.act];
  if (act === undefined) return 'nobody did anything';
  const row = act.shown[command] === undefined ? act.rows[command] : undefined;
  const since = act.shown[command] ?? row;
  if (sent.by === 'press' && act.shown[command] === undefined && act.button === command) return null; // on its card
  if (since === undefined) return 'it was not on the screen';
  if (act.at - since < 500 - FRAME_MS) return `it was drawn ${act.at - since} ms before`;
  if (sent.by === 'press') return act.button === command ? null : `the button beneath was of "${act.button}"`;
  if (act.isRepeat) return 'the key was held down';
  if (act.key.length === 1 && act.key !== ' ' && act.hasText) return 'a field held text';
  const before = acts.slice(0, sent.act);
  const turned = before.some(({ at, kind, key, onto }, nth) => {
    // The key C and the button Look of the corner card ask for it; it is drawn after that.
    const isAskedByKey = kind === 'key' && ['c', 'j', 'k', 'ArrowDown'].includes(key);
    const isAsked = (isAskedByKey || (kind === 'press' && key.startsWith('Look'))) && at > since - 1_500;
    return isAsked || (at >= since && onto === command && isTurning(before, nth));
  });
  // A row is in hand only if a person moved onto it.
  return turned || (row === undefined && wasStill(command, since, act, before)) ? null : 'nobody had turned to it';
}

/** Keys that move within a form, or onto it. */
const MOVING = ['Tab', 'ArrowDown', 'j', 'k'];

/** Whether somebody turned to a form by this act. The focus that a page sets by itself says nothing of a person. */
function isTurning(acts: readonly Act[], nth: number): boolean {
  const act = acts[nth];
  if (act?.kind !== 'focus') return act?.kind === 'move' || act?.kind === 'press' || MOVING.includes(act?.key ?? '');
  const cause = acts.slice(0, nth).findLast(({ kind }) => kind !== 'focus');
  const isByKey = cause?.kind === 'key' && MOVING.includes(cause.key);
  return (isByKey || cause?.kind === 'press') && act.at - cause.at < 100;
}

/** Whether it was alone on the screen for a second in which nobody did anything. */
function wasStill(command: string, since: number, act: Act, before: readonly Act[]): boolean {
  const alone = (one: Act) => Object.keys(one.shown).every((other) => other === command);
  const acts = [...before.filter(({ at, kind }) => at >= since && kind !== 'focus'), act];
  return acts.some((one, index) => alone(one) && one.at - (acts[index - 1]?.at ?? since) >= 1_000 - 2 * FRAME_MS);
}

/** Does one thing at random; skips it if the page does not have its target at the moment. */
async function doOne(
  { page, origin }: TestBoard,
  next: (below: number) => number,
  stages: readonly string[],
): Promise<void> {
  const stage = stages[next(stages.length)] ?? '';
  const verdict = page.locator('form button', { hasText: /^(Allow|Deny)/ }).first();
  const box = async () => (await verdict.boundingBox({ timeout: 200 })) ?? { x: 600, y: 400 };
  const onto = async () => {
    const { x, y } = await box();
    await page.mouse.move(x + 10 + next(20), y + 4 + next(16), { steps: 1 + next(3) });
  };
  const letter = ['a', 'd'][next(2)] ?? 'a';
  const deeds: (() => Promise<unknown>)[] = [
    ...Array.from({ length: 5 }, () => () => page.keyboard.press(letter)),
    () => page.keyboard.press(['Enter', 'Space', 'Tab', 'ArrowDown', 'j', 'k', 'Escape'][next(7)] ?? 'Tab'),
    () => page.keyboard.press('c'),
    () => page.keyboard.press('Tab'),
    () => page.getByRole('button', { name: 'Look', exact: true }).click({ timeout: 300 }),
    async () => {
      for (let times = 0; times < 6; times += 1) await page.keyboard.down(letter);
      await page.keyboard.up(letter);
    },
    onto,
    () => page.mouse.move(next(1_200), next(780)),
    async () => {
      await onto();
      await page.mouse.down();
      await page.waitForTimeout(next(700));
      await page.mouse.up();
    },
    async () => {
      await onto();
      await page.mouse.dblclick(
        ...(Object.values(await box())
          .map((value) => value + 6)
          .slice(0, 2) as [number, number]),
      );
    },
    () => page.goto(`${origin}/stages/${stage}`),
    () => page.goto(`${origin}/inbox`),
    () => page.goto(origin),
    () =>
      page
        .locator('textarea, input')
        .last()
        .fill(['', 'a text'][next(2)] ?? '', { timeout: 200 }),
    () =>
      page
        .getByRole('button', { name: 'Inbox' })
        .or(page.getByRole('link', { name: /^Inbox/ }))
        .first()
        .click({ timeout: 300 }),
  ];
  await deeds[next(deeds.length)]?.().catch(() => undefined); // it was not there
  // Between half a second and a second a form can be decided, but is not armed by itself yet.
  await page.waitForTimeout([0, 0, 30, 120, 300, 560, 620, 700, 1_100][next(9)] ?? 0);
}

/** Everything the page has seen since it was loaded. */
const seenBy = (page: Page) => page.evaluate(() => (globalThis as typeof globalThis & { witness: Witness }).witness);

const ends: (() => void | Promise<void>)[] = [];
let own: TestBoard;
beforeAll(async () => {
  const prepare = (_callboard: unknown, context: TestBoard['context']) => context.addInitScript(witness);
  const place = await createInstance((end) => void ends.unshift(end), { prepare });
  own = { ...place, api: apiOf(place.origin) };
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** A new page of the Callboard that all ways share, and a list of stages that are deleted after the test. */
async function openWay(): Promise<{ desk: TestBoard; stages: string[] }> {
  const page = await own.context.newPage();
  await page.goto(own.origin);
  const stages: string[] = [];
  onTestFinished(async () => {
    await page.close();
    for (const id of stages) {
      await callApi(own.origin, 'POST', `/api/stages/${id}/stop`, {});
      await callApi(own.origin, 'DELETE', `/api/stages/${id}`);
    }
  });
  return { desk: { ...own, page }, stages };
}

it.each(WAYS)(
  `lets nothing decide at random what nobody looked at, %s (seed ${SEED})`,
  { timeout: 420_000 },
  async (way, acts) => {
    const { desk, stages } = await openWay();
    const { page, api } = desk;
    await choosePresentation(page, way);
    for (const title of ['one', 'two', 'three']) {
      const steps = Array.from({ length: 14 }, (_, nth) => bash(`touch ${title}-${nth}.txt`));
      stages.push(await api.stage(title, [...steps, { text: 'Done.' }]));
    }
    for (const stageId of stages) await api.start(stageId);
    const commands = new Map<string, string>();
    const learn = async () => {
      const { pending } = await api.get('/api/board');
      for (const { requestId, input } of pending) commands.set(requestId, input.command);
    };
    /** On a busy machine a request may come, and be decided, within one act. */
    const learnDecided = async () => {
      const { decisions } = await api.get('/api/decisions');
      for (const { requestId, asked } of decisions)
        if (!commands.has(requestId)) commands.set(requestId, /touch [\w-]+\.txt/.exec(asked)?.[0] ?? asked);
    };
    const next = random(SEED);
    const faults: string[] = [];
    let decided = 0;
    let asked = 0;
    let reported: Witness = { loadedAt: 0, acts: [], sent: [] };
    const judge = async () => {
      await learn();
      await learnDecided();
      for (const sent of reported.sent) {
        decided += 1;
        const command = commands.get(sent.requestId) ?? '';
        const why = fault(sent, command, reported.acts);
        if (why !== null)
          faults.push(
            `${command}: ${why} (${sent.by}, the last of ${JSON.stringify(reported.acts.slice(0, sent.act + 1))})`,
          );
      }
      asked += reported.acts.filter(({ kind, key }) => kind === 'key' && ['a', 'd'].includes(key)).length;
    };
    for (let nth = 0; nth < acts; nth += 1) {
      await learn();
      await doOne(desk, next, stages);
      const now = await seenBy(page);
      if (now.loadedAt !== reported.loadedAt) await judge();
      reported = now;
    }
    await judge();
    expect(faults, faults.join('\n')).toEqual([]);
    // Both happened: keys that decided something, and keys that did not.
    expect(decided).toBeGreaterThan(2);
    expect(asked).toBeGreaterThan(decided);
    // The server decided nothing that no page has sent.
    const { decisions } = await api.get('/api/decisions');
    const byPeople = ({ by, stageId }: { by: string | null; stageId: string }) =>
      by !== null && stages.includes(stageId);
    expect(decisions.filter(byPeople).length).toBeLessThanOrEqual(decided);
  },
);
