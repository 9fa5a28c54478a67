import { type InstalledClaude, inspectClaude, OLDEST_CLAUDE, tooOld } from '@callboard/orchestrator/doctor';
import type { Environment } from '@callboard/runtime/environment';
import { type Finding, ok, problem } from './report.ts';

/** The `claude` that the user named: its absolute path, and where (`--claude`, or a variable). */
export interface GivenClaude {
  readonly path: string;
  readonly from: string;
}

const INSTALL = 'npm install -g @anthropic-ai/claude-code (or pass --claude PATH)';

/** Looks for `claude`. `claude` in the result is null if it cannot be run. */
export async function checkClaude(
  given: GivenClaude | null,
  env: Environment,
): Promise<{ finding: Finding; claude: (InstalledClaude & { version: string }) | null }> {
  let installed: InstalledClaude;
  try {
    installed = await inspectClaude(given?.path ?? null, env);
  } catch (error) {
    if (!isMissing(error)) throw error;
    const found =
      given === null ? 'not found on PATH or in Callboard' : `${given.from}: there is no program at ${given.path}`;
    return { finding: problem(found, INSTALL), claude: null };
  }
  const { path, version, complaint } = installed;
  if (version === null) {
    const advice = `Try it: ${path} --version; reinstall it: npm install -g @anthropic-ai/claude-code`;
    return {
      finding: problem(`${path} (${locationOf(installed, given)}) does not report its version: ${complaint}`, advice),
      claude: null,
    };
  }
  if (tooOld({ path, version }) !== null) {
    const found = `${version}, ${path} (${locationOf(installed, given)}) is too old: Callboard needs ${OLDEST_CLAUDE} or newer`;
    return { finding: problem(found, 'claude update (or npm install -g @anthropic-ai/claude-code)'), claude: null };
  }
  return { finding: ok(`${version}, ${path} (${locationOf(installed, given)})`), claude: { ...installed, version } };
}

function locationOf({ where }: InstalledClaude, given: GivenClaude | null): string {
  switch (where) {
    case 'given':
      return `named by ${given?.from}`;
    case 'path':
      return 'on PATH';
    case 'bundled':
      return 'comes with Callboard; none is on PATH';
    default:
      return where satisfies never;
  }
}

const isMissing = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'claude_missing';
