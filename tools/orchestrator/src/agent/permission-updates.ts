import { isDeepStrictEqual } from 'node:util';
import { PermissionMode, type PermissionRule, type PermissionUpdate } from '@callboard/contract';
import { z } from 'zod';

const filled = z.string().min(1);
const rules = {
  behavior: z.enum(['allow', 'deny', 'ask']),
  rules: z.array(z.looseObject({ toolName: filled, ruleContent: z.string().optional() })).min(1),
};
const directories = z.array(filled).min(1);

/**
 * The permission updates that the CLI takes with an answer (2.1.330). It ignores any other silently, so a person would believe that
 * something was granted; those are refused before they are sent.
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
          ? 'Claude Code does not accept bypassPermissions in an answer; change the mode of the session instead'
          : `Invalid option: expected one of ${PermissionMode.exclude(['bypassPermissions']).options.join(', ')}`,
    }),
  }),
]);

/** What is wrong with the updates, in words; null when nothing is. An update that the CLI suggested itself may have any shape. */
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
    : `Claude Code would ignore this, so nothing was sent. Fix it or leave it out. ${wrong.join('\n')}`;
}

/** The updates that can be kept, in the CLI's own shapes (seen with 2.1.330). */
const AllowRules = z.looseObject({
  type: z.literal('addRules'),
  behavior: z.literal('allow'),
  rules: z.array(z.looseObject({ toolName: z.string(), ruleContent: z.string().optional() })),
});
const Directories = z.looseObject({ type: z.literal('addDirectories'), directories: z.array(z.string()) });

/** A rule that outlives the session it was granted in. */
export type SavedRule = Pick<PermissionRule, 'kind' | 'rule'>;

/** The allow rules and readable folders in these updates, which can be kept beyond the session. A mode cannot. */
export function savableRules(updates: readonly PermissionUpdate[]): SavedRule[] {
  return updates.flatMap((update): SavedRule[] => {
    const allow = AllowRules.safeParse(update);
    if (allow.success) {
      return allow.data.rules.map(({ toolName, ruleContent }) => ({
        kind: 'allow',
        rule: ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`,
      }));
    }
    const folders = Directories.safeParse(update);
    return folders.success ? folders.data.directories.map((rule) => ({ kind: 'directory', rule })) : [];
  });
}

/**
 * Sends each update to the session alone, whatever destination the CLI suggested: any other would be written into the worktree, be
 * committed with it, and vanish with it. Callboard itself keeps the rules that are to last.
 */
export const forSession = (updates: readonly PermissionUpdate[]): PermissionUpdate[] =>
  updates.map((update) => ({ ...update, destination: 'session' }));
