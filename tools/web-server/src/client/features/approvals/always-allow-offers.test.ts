import { expect, it } from 'vitest';
import { alwaysAllowOffers, editsOffer } from './always-allow.tsx';

const rules = {
  type: 'addRules',
  behavior: 'allow',
  rules: [{ toolName: 'Bash', ruleContent: 'npm run *' }, { toolName: 'WebSearch' }],
};
const folder = { type: 'addDirectories', directories: ['/srv/data'] };
const mode = { type: 'setMode', mode: 'acceptEdits' };
const deny = { type: 'addRules', behavior: 'deny', rules: [{ toolName: 'Bash' }] };

it('offers exactly the rules and folders that would be kept, and no mode change', () => {
  const offers = alwaysAllowOffers({ suggestions: [rules, folder, mode, deny], suppressAlwaysAllow: false });
  expect(offers.map((offer) => offer.rules)).toEqual([['Bash(npm run *)', 'WebSearch'], ['/srv/data']]);
  expect(offers[0]?.suggestion).toBe(rules);
});

it('offers nothing if Claude Code suppresses "always allow"', () => {
  expect(alwaysAllowOffers({ suggestions: [rules], suppressAlwaysAllow: true })).toEqual([]);
});

it('offers to allow edits where Claude Code suggests that mode, with the folders it needs for it', () => {
  const offer = editsOffer({ suggestions: [rules, folder, mode], suppressAlwaysAllow: false });
  expect(offer).toEqual({ updates: [mode, folder], folders: ['/srv/data'] });
  expect(editsOffer({ suggestions: [mode], suppressAlwaysAllow: true })).toBeNull();
  expect(
    editsOffer({ suggestions: [{ type: 'setMode', mode: 'plan' }, rules], suppressAlwaysAllow: false }),
  ).toBeNull();
});
