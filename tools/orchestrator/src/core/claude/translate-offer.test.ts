import { expect, it } from 'vitest';
import { offered } from './translate.ts';

const answer = (response: unknown) => offered({ subtype: 'success', request_id: 'r', response });

it('takes commands and models out of the answer to initialize, and passes over what it does not understand', () => {
  const greet = { name: 'greet', description: 'Greets', argumentHint: '<name>' };
  const usage = { name: 'usage', description: 'x'.repeat(5_000), argumentHint: '', aliases: ['cost'], builtin: true };
  const sonnet = { value: 'sonnet', resolvedModel: 'claude-sonnet-9', displayName: 'Sonnet', description: 'Fast' };
  const effort = { supportsEffort: true, supportedEffortLevels: ['low', 'high'] };
  const [event] = answer({
    commands: [greet, usage, { name: '__own', description: '', argumentHint: '' }, 'what?'],
    models: [{ ...sonnet, ...effort }, { value: 'plain' }, 7],
  });
  expect(event).toMatchObject({
    type: 'offered',
    capabilities: {
      commands: [
        { ...greet, aliases: [], isBuiltIn: false },
        { name: 'usage', aliases: ['cost'], isBuiltIn: true },
      ],
      models: [
        { value: 'sonnet', resolved: 'claude-sonnet-9', label: 'Sonnet', efforts: ['low', 'high'] },
        { value: 'plain', resolved: null, label: 'plain', efforts: [] },
      ],
    },
  });
  expect(JSON.stringify(event).length).toBeLessThan(1_000);
});

it('finds nothing in any other answer', () => {
  expect(answer({ mode: 'plan' })).toEqual([]);
  expect(answer(undefined)).toEqual([]);
});
