import { expect, it } from 'vitest';
import { excludedCommands } from './excluded-commands.ts';
import { settingsItems } from './settings-items.ts';

it('names the commands that settings let run outside of the sandbox', () => {
  expect(excludedCommands('{"sandbox":{"excludedCommands":["docker *",1,"gh *"]}}')).toEqual(['docker *', 'gh *']);
  for (const text of ['', '{', '[]', '{"sandbox":[]}', '{"sandbox":{"excludedCommands":"x"}}', '{}'])
    expect(excludedCommands(text)).toEqual([]);
});

it('passes over the empty file that the sandbox puts where there is none', () => {
  const file = { kind: 'settings', name: '.claude/settings.json', text: '' } as const;
  expect(settingsItems(file)).toEqual([]);
  expect(settingsItems({ ...file, text: '{' })).toHaveLength(1);
});
