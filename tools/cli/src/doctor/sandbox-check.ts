import type { SandboxSupport } from '@callboard/contract';
import { type Finding, ok, warning } from './machine-check.ts';

/** @param support what came of a command that was run in Claude Code's sandbox */
export function checkSandbox({ state, why, how }: SandboxSupport): Finding {
  if (state === 'works') return ok('works: a command was run in it');
  const advice = how ?? 'Sessions run without it. A command that forges an answer is noticed then, not prevented.';
  return warning(`does not work. ${why ?? ''}`.trim(), advice);
}
