const NETWORK = /^deny network-outbound (\S+)(?: \((.*)\))?$/;
/** Matches errors of a local server that did not answer. */
const LOCAL = /refused|failed to connect/i;
const MAX = 5;

const ASKED_AGAIN = 'If the command runs again, you are asked about a host again.';
const OWN_NETWORK =
  'Each command in the sandbox has its own network, so it cannot reach a server that another command started.';

/** What the sandbox blocked, from Claude Code's list, and what to do besides turning the sandbox off. */
export function blockedText(violations: string): { blocked: string; hint: string } {
  const lines = violations.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
  const isNetwork = lines.length > 0 && lines.every((line) => NETWORK.test(line));
  const reported = [...new Set(lines.map((line) => NETWORK.exec(line)?.[1] ?? line))];
  const shown = reported.slice(0, MAX).join(', ');
  const blocked = reported.length > MAX ? `${shown} and ${reported.length - MAX} more` : shown;
  return {
    blocked: blocked === '' ? 'something it does not name' : blocked,
    hint: hintFor(lines, isNetwork),
  };
}

function hintFor(lines: readonly string[], isNetwork: boolean): string {
  if (isNetwork) return ASKED_AGAIN;
  return lines.some((line) => LOCAL.test(line)) ? OWN_NETWORK : '';
}
