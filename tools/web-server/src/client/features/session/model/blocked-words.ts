const NETWORK = /^deny network-outbound (\S+)(?: \((.*)\))?$/;
/** Matches errors of a local server that did not answer. */
const LOCAL = /refused|failed to connect/i;
const MOST = 5;

const ASKED_AGAIN = 'If the command runs again, you are asked about a host again.';
const OWN_NETWORK =
  'Each command in the sandbox has its own network, so it cannot reach a server that another command started.';

/** What the sandbox blocked, from Claude Code's list, and what to do besides turning the sandbox off. */
export function blockedWords(violations: string): { blocked: string; hint: string } {
  const lines = violations.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
  const isNetwork = lines.length > 0 && lines.every((line) => NETWORK.test(line));
  const told = [...new Set(lines.map((line) => NETWORK.exec(line)?.[1] ?? line))];
  const shown = told.slice(0, MOST).join(', ');
  const blocked = told.length > MOST ? `${shown} and ${told.length - MOST} more` : shown;
  return {
    blocked: blocked === '' ? 'something it does not name' : blocked,
    hint: hintFor(lines, isNetwork),
  };
}

function hintFor(lines: readonly string[], isNetwork: boolean): string {
  if (isNetwork) return ASKED_AGAIN;
  return lines.some((line) => LOCAL.test(line)) ? OWN_NETWORK : '';
}
