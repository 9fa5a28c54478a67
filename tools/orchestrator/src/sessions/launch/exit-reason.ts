import { readFile } from 'node:fs/promises';
import type { ProcessExit } from '../../claude/launch/spawn-claude.ts';

const LONGEST_ERROR = 2_000;

/** How a process ended, in words for a person: what happened, and the CLI's own last words if it left any. */
export async function exitReason(exit: ProcessExit, errorFile: string, isOfEarlierBoot = false): Promise<string> {
  if (isOfEarlierBoot) return 'The machine was restarted while Claude Code was running.';
  const words = await lastWords(errorFile);
  const what = describe(exit);
  return words === '' ? `${what}.` : `${what}: ${words}`;
}

function describe(exit: ProcessExit): string {
  if (!exit.known) return 'The Claude Code process is gone';
  if (exit.signal !== null) return `The Claude Code process was ended by ${exit.signal}`;
  return exit.code === 0
    ? 'The Claude Code process ended'
    : `The Claude Code process ended with exit code ${exit.code}`;
}

/** Start-up refusals stand on stderr and nowhere else. */
async function lastWords(errorFile: string): Promise<string> {
  const text = await readFile(errorFile, 'utf8').catch(() => '');
  return text.trim().slice(-LONGEST_ERROR);
}
