import type { LeftOut } from '@callboard/contract';

/** What is said in the transcript of a launch without them. */
export function leftOutText({ summary, unavailable: missing }: LeftOut): string {
  const first = `This session started without ${summary}, because nobody has trusted the repository as it is now.`;
  const named = missing.length > 12 ? [...missing.slice(0, 12), `${missing.length - 12} more`] : missing;
  const without = named.length === 0 ? '' : ` Not available: ${named.join(', ')}.`;
  return `${first}${without} Its CLAUDE.md, its deny and ask rules and your own settings are in use. If you trust it, the next start uses the rest.`;
}
