import { isDeepStrictEqual } from 'node:util';
import { PermissionMode, type PermissionUpdate } from '@callboard/contract';
import { z } from 'zod';

const filled = z.string().min(1);
const rules = {
  behavior: z.enum(['allow', 'deny', 'ask']),
  rules: z.array(z.looseObject({ toolName: filled, ruleContent: z.string().optional() })).min(1),
};
const directories = z.array(filled).min(1);

/**
 * The permission updates that the CLI takes with an answer (2.1.330). It passes over any other without a word, so
 * that a person would think to have granted something; those are better refused before they are sent.
 */
const KnownUpdate = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('addRules'), ...rules }),
  z.looseObject({ type: z.literal('replaceRules'), ...rules }),
  z.looseObject({ type: z.literal('removeRules'), ...rules }),
  z.looseObject({ type: z.literal('addDirectories'), directories }),
  z.looseObject({ type: z.literal('removeDirectories'), directories }),
  z.looseObject({
    type: z.literal('setMode'),
    mode: PermissionMode.exclude(['bypassPermissions'], {
      error: ({ input }) =>
        input === 'bypassPermissions'
          ? 'Claude Code does not take bypassPermissions with an answer; change the mode of the session instead'
          : `Invalid option: expected one of ${PermissionMode.exclude(['bypassPermissions']).options.join(', ')}`,
    }),
  }),
]);

/** What is wrong with them, in words; null when nothing is. What the CLI suggested itself is right in whatever shape. */
export function permissionUpdatesProblem(
  updates: readonly PermissionUpdate[],
  suggestions: readonly PermissionUpdate[],
): string | null {
  const wrong = updates.flatMap((update, index) => {
    if (suggestions.some((suggestion) => isDeepStrictEqual(suggestion, update))) return [];
    const parsed = KnownUpdate.safeParse(update);
    return parsed.success ? [] : [`updatedPermissions[${index}]:\n${z.prettifyError(parsed.error)}`];
  });
  return wrong.length === 0
    ? null
    : `Claude Code would pass over this, so nothing was sent. Mend it or leave it out. ${wrong.join('\n')}`;
}
