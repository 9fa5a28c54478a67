import fc from 'fast-check';
import { expect, it } from 'vitest';
import { titleProposal } from './stages.ts';

it.each([
  ['Build the login form. Use @src/app.ts for the route.', 'Build the login form'],
  ['please fix the flaky test in src/cart.test.ts', 'Fix the flaky test in src/cart.test.ts'],
  ['# Rate limits\n\nAdd a token bucket to `src/api.ts`.', 'Rate limits'],
  ['- **Emails**: send a receipt', 'Emails'],
  ['Support numbers, e.g. 3.5. Then stop.', 'Support numbers, e.g. 3.5'],
  ['\n\n---\n1. First things first', 'First things first'],
  ['', ''],
  ['   \n```\n', ''],
  [
    'Make the search index incremental so that a change of one product does not rebuild all of it',
    'Make the search index incremental so that a change of one…',
  ],
  ['a `', 'A'],
])('%j gives %j', (prompt, title) => {
  expect(titleProposal(prompt)).toBe(title);
});

it('is short, on one line, and there whenever the prompt has a letter', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab .\n#-*`é1?😀') }), (prompt) => {
      const title = titleProposal(prompt);
      expect(title.length).toBeLessThanOrEqual(61);
      expect(title).not.toContain('\n');
      expect(title.trim()).toBe(title);
    }),
  );
});
