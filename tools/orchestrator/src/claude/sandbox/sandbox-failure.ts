import type { SandboxFailure } from '@callboard/contract';

/** The CLI adds this at the end of a command's output. Only the end counts, since a command can print the tag itself. */
const VIOLATIONS = /<sandbox_violations>\s*((?:(?!<sandbox_violations>)[\s\S])*?)\s*<\/sandbox_violations>\s*$/;
/** The CLI does not mark refusals by the file system or of a socket (tried on Linux). They look like this: */
const REFUSALS = [
  /^.*Read-only file system.*$/m,
  /^.*\bEROFS\b.*$/m,
  /^.*socket.*Operation not permitted.*$/im,
  /^.*\b(?:listen|connect) EPERM\b.*$/m,
  // A server that another command started, or that runs outside.
  /^.*(?:ECONNREFUSED|Failed to connect to|Connection refused|connection to server at).*(?:127\.0\.0\.1|::1|localhost).*$/im,
  /^.*(?:127\.0\.0\.1|::1|localhost).*(?:Connection refused|ECONNREFUSED).*$/im,
];
const MAX_LENGTH = 500;

/**
 * Returns what the sandbox denied a command; null if nothing indicates a denial. The caller knows whether the command ran
 * in a sandbox at all.
 * @param remedy the CLI's own suggestion
 */
export function sandboxFailure(output: string, isError: boolean, remedy: string | undefined): SandboxFailure | null {
  if (remedy === 'sandbox_violation') {
    const violations = VIOLATIONS.exec(output)?.[1];
    return { isCertain: true, detail: shortened(violations ?? 'Claude Code does not say what was refused.') };
  }
  if (!isError) return null;
  const line = REFUSALS.map((refusal) => refusal.exec(output)?.[0]).find((found) => found !== undefined);
  return line === undefined ? null : { isCertain: false, detail: shortened(line.trim()) };
}

const shortened = (text: string): string => (text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)} …` : text);
