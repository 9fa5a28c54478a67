import { expect, it } from 'vitest';
import { setClocks } from '../../test/support/set-clocks.ts';
import { stageId } from '../../test/support/test-store.ts';
import { createAttendance } from './attendance.ts';

const [one, two] = [stageId('STAGE-1'), stageId('STAGE-2')];

function setUp() {
  const clocks = setClocks();
  return { ...clocks, attendance: createAttendance(clocks.edges) };
}

it('knows in which tabs a person looks at a stage', () => {
  const { attendance } = setUp();
  attendance.tell('Ada', 'a', one);
  expect(attendance.isLooking('Ada', one)).toBe(true);
  expect(attendance.isLooking('Ada', two)).toBe(false);
  expect(attendance.isLooking('Bo', one)).toBe(false);
  attendance.tell('Ada', 'b', 'everything');
  expect(attendance.isLooking('Ada', two)).toBe(true);
  attendance.tell('Ada', 'b', null);
  expect(attendance.isLooking('Ada', two)).toBe(false);
  attendance.tell('Ada', 'a', two);
  expect(attendance.isLooking('Ada', one)).toBe(false);
});

it('forgets a tab that says nothing for a minute, whatever the time of day does', () => {
  const clocks = setClocks();
  let uptime = 0;
  const attendance = createAttendance({ ...clocks.edges, uptimeMs: () => uptime });
  attendance.tell('Ada', 'a', one);
  uptime = 59_000;
  clocks.jump(24 * 3_600_000);
  expect(attendance.isLooking('Ada', one)).toBe(true);
  uptime = 60_000;
  expect(attendance.isLooking('Ada', one)).toBe(false);
});

it('keeps the newest of very many tabs', () => {
  const { attendance } = setUp();
  attendance.tell('Ada', 'first', one);
  for (let tab = 0; tab < 250; tab += 1) attendance.tell('Ada', `tab ${tab}`, two);
  expect(attendance.isLooking('Ada', one)).toBe(false);
  expect(attendance.isLooking('Ada', two)).toBe(true);
});
