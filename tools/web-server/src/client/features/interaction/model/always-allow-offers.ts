import type { PendingRequest, PermissionUpdate } from '@callboard/contract';
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

/** A suggestion of Claude Code that a person can allow permanently. */
export interface AlwaysAllowOffer {
  suggestion: PermissionUpdate;
  kind: 'allow' | 'directory';
  /** Exactly what would be kept: rules, for example `Bash(npm run *)`, or folders. */
  rules: string[];
}

/** Returns the suggestions that can be kept. A change of the mode cannot. */
export function alwaysAllowOffers(request: Pick<PendingRequest, 'suggestions' | 'suppressAlwaysAllow'>) {
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
