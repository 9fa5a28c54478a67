import { type PendingRequest, PermissionMode, type PermissionUpdate } from '@callboard/contract';
import { z } from 'zod';

const AllowRules = z.looseObject({
  type: z.literal('addRules'),
  behavior: z.literal('allow'),
  rules: z.array(z.looseObject({ toolName: z.string(), ruleContent: z.string().optional() })).min(1),
});
const Directories = z.looseObject({
  type: z.literal('addDirectories'),
  directories: z.array(z.string()).min(1),
});
const Mode = z.looseObject({ type: z.literal('setMode'), mode: PermissionMode });

/** A suggestion of Claude Code that a person can allow permanently. */
export interface AlwaysAllowOffer {
  suggestion: PermissionUpdate;
  kind: 'allow' | 'directory';
  /** Exactly what would be kept: rules, for example `Bash(npm run *)`, or folders. */
  rules: string[];
  /** How often it was allowed, for a rule from habit. */
  times?: number;
}

type Suggesting = Pick<PendingRequest, 'suggestions' | 'suppressAlwaysAllow'>;

/** Returns the suggestions that can be kept. A change of the mode cannot. */
export function alwaysAllowOffers(request: Suggesting) {
  return request.suppressAlwaysAllow ? [] : request.suggestions.flatMap(offerOf);
}

function offerOf(suggestion: PermissionUpdate): AlwaysAllowOffer[] {
  const allow = AllowRules.safeParse(suggestion);
  if (allow.success) {
    const rules = allow.data.rules.map(({ toolName, ruleContent }) =>
      ruleContent === undefined ? toolName : `${toolName}(${ruleContent})`,
    );
    return [{ suggestion, kind: 'allow', rules }];
  }
  const folders = Directories.safeParse(suggestion);
  return folders.success ? [{ suggestion, kind: 'directory', rules: folders.data.directories }] : [];
}

/** A suggestion of Claude Code to go on in the mode in which it edits without asking. */
export interface EditsOffer {
  /** All that goes out with it: the mode, and the folders without which it would not cover this call. */
  updates: PermissionUpdate[];
  /** Folders outside the worktree that it opens as well. */
  folders: string[];
}

/** Returns the offer to allow edits in this stage; null if Claude Code does not suggest it. */
export function editsOffer({ suggestions, suppressAlwaysAllow }: Suggesting): EditsOffer | null {
  const mode = suggestions.find((suggestion) => Mode.safeParse(suggestion).data?.mode === 'acceptEdits');
  if (mode === undefined || suppressAlwaysAllow) return null;
  const directories = suggestions.filter((suggestion) => Directories.safeParse(suggestion).success);
  const folders = directories.flatMap((suggestion) => Directories.parse(suggestion).directories);
  return { updates: [mode, ...directories], folders };
}
