import { DEFAULT_ALERTS, RequestId } from '@callboard/contract';
import { expect, it, onTestFinished, vi } from 'vitest';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { allow } from '../../../test/support/test-answers.ts';
import { asked, busyTestSession } from '../../../test/support/test-session.ts';
import { openTestStore, sampleProject, silent, stageId as stageIdOf } from '../../../test/support/test-store.ts';
import { startPeople } from './people.ts';

const MINUTE = 60_000;
const r1 = RequestId.parse('r1');

/** A session with the open request `r1`. */
async function setUp() {
  const clocks = setClocks();
  const test = await openTestStore(clocks.platform);
  await test.store.transact((tx) => tx.projects.save(sampleProject()));
  const session = await busyTestSession({}, test);
  await session.emit(asked('r1'));
  const start = async () => {
    const people = await startPeople({
      store: test.store,
      platform: clocks.platform,
      log: silent,
      timer: clocks.timer,
    });
    onTestFinished(people.stop);
    return people;
  };
  const inMinutes = (count: number) => new Date(clocks.platform.now().getTime() + count * MINUTE).toISOString();
  const laterEvents = () => test.events.flatMap(({ type, data }) => (type === 'later-updated' ? [data] : []));
  return { ...clocks, session, people: await start(), start, inMinutes, laterEvents };
}

it('sets a request aside for one person, and takes that back', async () => {
  const { people, session, laterEvents } = await setUp();
  const { stageId } = session;
  const later = { stageId, requestId: r1, until: null };
  expect(await people.setLater('Ada', { requestId: r1 })).toEqual(later);
  expect((await people.find('Ada')).later).toEqual([later]);
  expect((await people.find('Bo')).later).toEqual([]);
  expect(await people.setLater('Ada', { requestId: r1, stageId, until: null })).toBeNull();
  expect((await people.find('Ada')).later).toEqual([]);
  const data = { stageId, requestId: r1, person: 'Ada' };
  expect(laterEvents()).toEqual([
    { ...data, later: { until: null } },
    { ...data, later: null },
  ]);
});

it('calls again when the time is over, also after a restart', async () => {
  const { people, start, pass, timers, inMinutes, laterEvents } = await setUp();
  await people.setLater('Ada', { requestId: r1, until: inMinutes(15) });
  await people.setLater('Bo', { requestId: r1, until: inMinutes(30) });
  await pass(14 * MINUTE);
  await vi.waitFor(() => expect(timers()).toBe(1)); // it has looked, and looks again
  expect(laterEvents()).toHaveLength(2);
  await pass(MINUTE);
  await vi.waitFor(() => expect(laterEvents().at(-1)).toMatchObject({ person: 'Ada', later: null }));
  expect((await people.find('Ada')).later).toEqual([]);
  expect((await people.find('Bo')).later).toHaveLength(1);

  people.stop();
  await pass(30 * MINUTE);
  expect(laterEvents()).toHaveLength(3);
  await start();
  await vi.waitFor(() => expect(laterEvents().at(-1)).toMatchObject({ person: 'Bo', later: null }));
});

it('forgets a request that was decided', async () => {
  const { people, session, pass, inMinutes, laterEvents } = await setUp();
  await people.setLater('Ada', { requestId: r1, until: inMinutes(15) });
  await allow(session);
  expect((await people.find('Ada')).later).toEqual([]);
  await pass(20 * MINUTE);
  expect(laterEvents()).toHaveLength(1);
  await expect(people.setLater('Ada', { requestId: r1 })).rejects.toMatchObject({ code: 'unknown_request' });
});

it('refuses a time that has passed, and an unknown request', async () => {
  const { people, inMinutes } = await setUp();
  const refused = (wanted: Parameters<typeof people.setLater>[1]) => expect(people.setLater('Ada', wanted)).rejects;
  await refused({ requestId: r1, until: inMinutes(-1) }).toMatchObject({ code: 'bad_request' });
  await refused({ requestId: RequestId.parse('r9') }).toMatchObject({ code: 'unknown_request' });
  await refused({ requestId: r1, stageId: stageIdOf('S9') }).toMatchObject({ code: 'unknown_request' });
});

it('keeps what is signalled to each person, and tells it on the board', async () => {
  const { people, session } = await setUp();
  const quiet = { from: '22:00', to: '07:00', days: [1, 2], timeZone: 'Europe/Berlin' };
  const alerts = { ...DEFAULT_ALERTS, quiet, allowFromNotification: true };
  await people.update('Ada', { presentation: 'panel' });
  expect((await people.find('Ada')).alerts).toEqual(DEFAULT_ALERTS);
  expect(await people.update('Ada', { alerts })).toMatchObject({ presentation: 'panel', alerts });
  expect(await people.update('Ada', { presentation: 'quiet' })).toMatchObject({ presentation: 'quiet', alerts });
  expect(await people.find('Ada')).toMatchObject({ presentation: 'quiet', alerts });
  expect((await people.find('Bo')).alerts).toEqual(DEFAULT_ALERTS);
  const reported = (await session.store.read.events.since(0, 100)).findLast(({ type }) => type === 'person-updated');
  expect(reported?.data).toEqual({ person: 'Ada', presentation: 'quiet', alerts });
});

it('keeps how requests present themselves to each person', async () => {
  const { people } = await setUp();
  expect((await people.find('Ada')).presentation).toBe('overlay');
  expect(await people.update('Ada', { presentation: 'panel' })).toMatchObject({ name: 'Ada', presentation: 'panel' });
  await people.update('Ada', { presentation: 'quiet' });
  expect((await people.find('Ada')).presentation).toBe('quiet');
  expect((await people.find('Bo')).presentation).toBe('overlay');
});
