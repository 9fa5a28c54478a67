import type { LeftOut } from '@callboard/contract';

/** What is said in the transcript of a launch without them. */
export function leftOutText({ summary, unavailable: missing }: LeftOut): string {
  const first = `The repository’s own settings were left out, since nobody has agreed to them as they are now: ${summary}.`;
  const named = missing.length > 12 ? [...missing.slice(0, 12), `${missing.length - 12} more`] : missing;
  const without = named.length === 0 ? '' : ` So these are not available: ${named.join(', ')}.`;
  return `${first}${without} Its CLAUDE.md and its rules that deny or ask hold, and so do your own settings. Once you trust the repository, the next start uses them.`;
}
