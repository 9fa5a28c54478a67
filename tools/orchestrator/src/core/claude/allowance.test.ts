import { expect, it } from 'vitest';
import { allowance } from './translate.ts';

it.each([
  [undefined, {}],
  [{ source: 'hook', reason_type: 'hook' }, { ranBy: 'hook' }],
  [{ source: 'user_temporary' }, { ranBy: 'person' }],
  [{ source: 'user_permanent' }, { ranBy: 'person' }],
  [
    { source: 'config', reason_type: 'rule' },
    { underRule: true, ranBy: 'rule' },
  ],
  [
    { source: 'config', reason_type: 'subcommandResults' },
    { underRule: true, ranBy: 'parts' },
  ],
  [
    { source: 'config', reason_type: 'mode' },
    { underRule: true, ranBy: 'mode' },
  ],
  [
    { source: 'config', reason_type: 'classifier' },
    { underRule: true, ranBy: 'classifier' },
  ],
  [
    { source: 'config', reason_type: 'other' },
    { underRule: true, unruled: true, ranBy: 'other' },
  ],
  [{ source: 'config' }, { underRule: true, ranBy: 'other' }],
  [{ source: 'something new' }, { ranBy: 'other' }],
])('tells what let a call run: %j', (permission, reported) => {
  expect(allowance(permission)).toEqual(reported);
});
