import { expect, it } from 'vitest';
import { setClocks } from '../../../test/support/set-clocks.ts';
import { stageId } from '../../../test/support/test-store.ts';
import { createPresence } from './notification-channel.ts';

const [one, two] = [stageId('STAGE-1'), stageId('STAGE-2')];

function setUp() {
  const clocks = setClocks();
  return { ...clocks, presence: createPresence(clocks.platform) };
}

it('knows in which tabs a person looks at a stage', () => {
  const { presence } = setUp();
  presence.notify('Ada', 'a', one);
  expect(presence.isLooking('Ada', one)).toBe(true);
  expect(presence.isLooking('Ada', two)).toBe(false);
  expect(presence.isLooking('Bo', one)).toBe(false);
  presence.notify('Ada', 'b', 'everything');
  expect(presence.isLooking('Ada', two)).toBe(true);
  presence.notify('Ada', 'b', null);
  expect(presence.isLooking('Ada', two)).toBe(false);
  presence.notify('Ada', 'a', two);
  expect(presence.isLooking('Ada', one)).toBe(false);
});

it('forgets a tab that says nothing for a minute, whatever the time of day does', () => {
  const clocks = setClocks();
  let uptime = 0;
  const presence = createPresence({ ...clocks.platform, uptimeMs: () => uptime });
  presence.notify('Ada', 'a', one);
  uptime = 59_000;
  clocks.jump(24 * 3_600_000);
  expect(presence.isLooking('Ada', one)).toBe(true);
  uptime = 60_000;
  expect(presence.isLooking('Ada', one)).toBe(false);
});

it('keeps the newest of very many tabs', () => {
  const { presence } = setUp();
  presence.notify('Ada', 'first', one);
  for (let tab = 0; tab < 250; tab += 1) presence.notify('Ada', `tab ${tab}`, two);
  expect(presence.isLooking('Ada', one)).toBe(false);
  expect(presence.isLooking('Ada', two)).toBe(true);
});
