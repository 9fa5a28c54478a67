import { expect, it } from 'vitest';
import { flagsIn, OLDEST_CLAUDE, tooOld } from './claude-program.ts';

const HELP = `Usage: claude [options]

Options:
  --allowedTools, --allowed-tools <tools...>  Tools to allow (see --bare)
  -d, --debug [filter]      Enable debug mode
      --effort <level>      Effort
  --include-partial-messages
      Include partial message chunks; --not-an-option is none
`;

it('reads the flags from a help text, but not from their descriptions', () => {
  expect(flagsIn(HELP)).toEqual(
    new Set(['--allowed-tools', '--allowed', '--debug', '--effort', '--include-partial-messages']),
  );
  expect(flagsIn('error: unknown option')).toBeNull();
});

it('refuses an old version, naming it, the oldest supported one, and how to update', () => {
  const refusal = tooOld({ path: '/bin/claude', version: '2.0.77' });
  expect(refusal).toContain('Claude Code 2.0.77');
  expect(refusal).toContain(OLDEST_CLAUDE);
  expect(refusal).toContain('claude update');
  expect(tooOld({ path: '/bin/claude', version: OLDEST_CLAUDE })).toBeNull();
  expect(tooOld({ path: '/bin/claude', version: '9.0.0' })).toBeNull();
  expect(tooOld({ path: '/bin/claude', version: null })).toBeNull();
});
