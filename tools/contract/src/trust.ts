import { z } from 'zod';
import { StageId } from './ids.ts';

/** What a setting of a repository would switch on. `mode`: it changes what is asked. `other`: a key nobody here knows to be harmless. */
export const TrustKind = z.enum([
  'hook',
  'helper',
  'env',
  'mcp-server',
  'plugin',
  'rule',
  'mode',
  'directory',
  'other',
]);
export type TrustKind = z.infer<typeof TrustKind>;

/** One thing that settings would switch on. */
export const TrustItem = z.object({
  kind: TrustKind,
  /** What it does, as a sentence. */
  text: z.string(),
  /** The command, the variable, the rule, ..., shortened where it is very long. */
  value: z.string(),
  /** The file it stands in, relative to the repository's folder, or where else it is. */
  file: z.string(),
  /** Nobody has agreed to it as it is. */
  isNew: z.boolean(),
});
export type TrustItem = z.infer<typeof TrustItem>;

/** What a repository's own settings would switch on, and whether a person agreed to exactly that. */
export const ProjectTrust = z.object({
  /** There is something that nobody has agreed to. */
  needed: z.boolean(),
  /** Of all items as they are, the scripts that they run included; what agreeing is bound to. Empty without items. */
  hash: z.string(),
  items: z.array(TrustItem),
});
export type ProjectTrust = z.infer<typeof ProjectTrust>;

export const NOTHING_TO_TRUST: ProjectTrust = { needed: false, hash: '', items: [] };

/** Of the worktree of a stage, or of the repository as it is committed and set up in its main checkout. */
export const TrustQuery = z.strictObject({ stageId: StageId.optional() });
/** Agrees to exactly what has this hash: in the repository, or in the worktree of one of its stages. */
export const TrustBody = z.strictObject({ hash: z.string().min(1).max(200) });
/** What a person says to have allowed in a terminal: rules and folders, as they stand in the file. */
export const RulesBody = z.strictObject({ rules: z.array(z.string().min(1)).min(1).max(500) });
