import { expect, it } from 'vitest';
import { claudeArguments, missingFlags } from './arguments.ts';
import { flagsIn, OLDEST_CLAUDE, tooOld } from './program.ts';

const HELP = `Usage: claude [options]

Options:
  --allowedTools, --allowed-tools <tools...>  Tools to allow (see --bare)
  -d, --debug [filter]      Enable debug mode
      --effort <level>      Effort
  --include-partial-messages
      Include partial message chunks; --not-an-option is none
`;

it('reads the options out of a help text, and none out of what it says of them', () => {
  expect(flagsIn(HELP)).toEqual(
    new Set(['--allowed-tools', '--allowed', '--debug', '--effort', '--include-partial-messages']),
  );
  expect(flagsIn('error: unknown option')).toBeNull();
});

const launch = {
  ...{ dataDir: '/data', permissionMode: 'default', model: null, effort: 'low', allow: [], directories: [] },
  hosts: [],
  sessionMessages: false,
  ask: [],
  deny: [],
  sandbox: null,
  userSettingsOnly: null,
  conversation: { start: 'c' },
};

it('leaves out an option that the program does not know and a session can do without, and says what is missing', () => {
  const flags = flagsIn(HELP);
  expect(missingFlags(flags)).toEqual(['subagent text is not shown']);
  expect(claudeArguments({ ...launch, flags })).not.toContain('--forward-subagent-text');
  expect(claudeArguments({ ...launch, flags })).toContain('--include-partial-messages');
  expect(claudeArguments({ ...launch, flags: new Set(['--print']) })).not.toContain('--effort');
});

it('gives all options to a program that does not tell which it knows', () => {
  const args = claudeArguments({ ...launch, flags: null });
  expect(args).toEqual(expect.arrayContaining(['--forward-subagent-text', '--include-partial-messages', '--effort']));
  expect(missingFlags(null)).toEqual([]);
});

it('says of an old version which it is, which one is needed, and how to get that', () => {
  const words = tooOld({ path: '/bin/claude', version: '2.0.77' });
  expect(words).toContain('Claude Code 2.0.77');
  expect(words).toContain(OLDEST_CLAUDE);
  expect(words).toContain('claude update');
  expect(tooOld({ path: '/bin/claude', version: OLDEST_CLAUDE })).toBeNull();
  expect(tooOld({ path: '/bin/claude', version: '9.0.0' })).toBeNull();
  expect(tooOld({ path: '/bin/claude', version: null })).toBeNull();
});
