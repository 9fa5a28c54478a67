import { ProjectSettings } from '@callboard/contract';
import { expect, it } from 'vitest';
import { lossRule } from './machines.ts';

const MINUTE = 60_000;
const project = (name: string, minutes: number | null) => ({
  name,
  settings: ProjectSettings.parse({ declareLostAfterMs: minutes === null ? null : minutes * MINUTE }),
});
const ends = (minutes: number | null) => ({ endsSessionsAfterMs: minutes === null ? null : minutes * MINUTE });

it.each([
  ['the time of its project', ends(5), [project('Shop', 10)], { silentMs: 10 * MINUTE, by: 'the rule of Shop' }],
  [
    'the longest of several',
    ends(5),
    [project('A', 10), project('B', 30)],
    { silentMs: 30 * MINUTE, by: 'the rule of B' },
  ],
  ['nothing without a rule', ends(5), [project('Shop', null)], null],
  ['nothing if one of its projects has none', ends(5), [project('A', 10), project('B', null)], null],
  ['nothing if the machine does not end its sessions', ends(null), [project('Shop', 10)], null],
  ['nothing if it ends them later than in half the time', ends(6), [project('Shop', 10)], null],
  ['nothing without stages', ends(5), [], null],
])('takes %s', (_, machine, projects, rule) => {
  expect(lossRule(machine, projects)).toEqual(rule);
});
