import { z } from 'zod';
import { StageId } from './ids.ts';

/** What a repository's setting would switch on. `command`: Callboard runs it in worktrees. `mode`: it changes what needs approval. `other`: a key not known to be harmless. */
export const TrustKind = z.enum([
  'hook',
  'helper',
  'env',
  'mcp-server',
  'plugin',
  'rule',
  'mode',
  'directory',
  'command',
  'other',
]);
export type TrustKind = z.infer<typeof TrustKind>;

/** One thing that settings would switch on. */
export const TrustItem = z.object({
  kind: TrustKind,
  /** What it does, as a sentence. */
  text: z.string(),
  /** The command, variable, rule or other value, shortened if it is very long. */
  value: z.string(),
  /** The file that contains it, relative to the repository's folder, or another description of its location. */
  file: z.string(),
  /** Nobody has agreed to its current value. */
  isNew: z.boolean(),
});
export type TrustItem = z.infer<typeof TrustItem>;

/** What a repository's own settings would switch on, and whether a person agreed to exactly these settings. */
export const ProjectTrust = z.object({
  /** At least one item has no agreement. */
  needed: z.boolean(),
  /** Hash of all current items and the scripts that they run. An agreement applies to this hash only. Empty without items. */
  hash: z.string(),
  items: z.array(TrustItem),
});
export type ProjectTrust = z.infer<typeof ProjectTrust>;

export const NOTHING_TO_TRUST: ProjectTrust = { needed: false, hash: '', items: [] };

/** Selects the worktree of a stage; without one, the repository as committed and set up in its main checkout. */
export const TrustQuery = z.strictObject({ stageId: StageId.optional() });
/** Agrees to the settings with this hash, in the repository or in the worktree of one of its stages. */
export const TrustBody = z.strictObject({ hash: z.string().min(1).max(200) });
/** The rules and folders that a person confirms to have allowed in a terminal, spelled as in the file. */
export const RulesBody = z.strictObject({ rules: z.array(z.string().min(1)).min(1).max(500) });
