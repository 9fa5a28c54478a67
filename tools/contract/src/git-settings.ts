import { z } from 'zod';

/** Something in a repository's git settings that can run a program when git is called. */
export const GitSettingItem = z.object({
  /** `config`: a key; `hook`: a hook's file; `repository`: the `.git` of the main checkout leads elsewhere. */
  kind: z.enum(['config', 'hook', 'repository']),
  /** The key (`core.fsmonitor`), the hook (`pre-commit`), or `.git`. */
  name: z.string(),
  /** The key's value, the beginning of the hook, or where `.git` leads. */
  value: z.string(),
  /** The file that it stands in. */
  file: z.string(),
  /** SHA-256 of the hook, or of the files in the repository that the value names; null: it names none that is there. */
  contents: z.string().nullable(),
});
export type GitSettingItem = z.infer<typeof GitSettingItem>;

/** What of a repository's git settings nobody has agreed to yet; Callboard's own git calls leave it off. */
export const GitSettings = z.object({
  /** Whether there is anything to agree to. */
  needed: z.boolean(),
  /** Stands for exactly these items; empty where there are none. */
  hash: z.string(),
  items: z.array(GitSettingItem),
});
export type GitSettings = z.infer<typeof GitSettings>;

export const NOTHING_TO_AGREE: GitSettings = { needed: false, hash: '', items: [] };

export const GitSettingsBody = z.strictObject({ hash: z.string().min(1, 'is empty') });
export type GitSettingsBody = z.infer<typeof GitSettingsBody>;
