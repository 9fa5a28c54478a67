import { z } from 'zod';

/** A git setting of a repository that can make git run a program. */
export const GitSettingItem = z.object({
  /** `config`: a key. `hook`: a hook's file. `repository`: the `.git` of the main checkout points elsewhere. */
  kind: z.enum(['config', 'hook', 'repository']),
  /** The key (`core.fsmonitor`), the hook (`pre-commit`), or `.git`. */
  name: z.string(),
  /** The key's value, the beginning of the hook, or the target of `.git`. */
  value: z.string(),
  /** The file that contains it. */
  file: z.string(),
  /** SHA-256 of the hook, or of the existing files that the value names; null if there are none. */
  contents: z.string().nullable(),
});
export type GitSettingItem = z.infer<typeof GitSettingItem>;

/** The git settings of a repository that nobody has agreed to yet; Callboard's own calls of git leave them out. */
export const GitSettings = z.object({
  /** Whether there is anything to agree to. */
  needed: z.boolean(),
  /** Identifies exactly these items; empty if there are none. */
  hash: z.string(),
  items: z.array(GitSettingItem),
});
export type GitSettings = z.infer<typeof GitSettings>;

export const NOTHING_TO_AGREE: GitSettings = { needed: false, hash: '', items: [] };

export const GitSettingsBody = z.strictObject({ hash: z.string().min(1, 'is empty') });
export type GitSettingsBody = z.infer<typeof GitSettingsBody>;
