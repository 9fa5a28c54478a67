import { createHash } from 'node:crypto';
import { GitSettingItem, type GitSettings, NOTHING_TO_AGREE } from '@callboard/contract';
import { z } from 'zod';

/** A person's agreement to the git settings of a repository. */
export const GitAgreement = z.object({
  /** The settings present when the repository was registered, and those agreed to since. */
  agreed: z.array(GitSettingItem),
  /** Settings found since, which Callboard switches off. */
  pending: z.array(GitSettingItem),
});
export type GitAgreement = z.infer<typeof GitAgreement>;

/** Whether a person agreed to this setting. A value whose file is missing runs nothing, so only its text counts. */
export function isAgreed(agreed: readonly GitSettingItem[], item: GitSettingItem): boolean {
  return agreed.some(
    (one) =>
      one.kind === item.kind &&
      one.name === item.name &&
      (item.kind === 'hook' || one.value === item.value) &&
      (one.contents === item.contents || (item.contents === null && item.kind !== 'hook')),
  );
}

/** Returns the settings to show a person. A setting that is the same in two worktrees appears once. */
export function gitSettingsOf(pending: readonly GitSettingItem[]): GitSettings {
  const byIdentity = new Map(pending.map((item) => [identityOf(item), item]));
  const identities = [...byIdentity.keys()].sort();
  if (identities.length === 0) return NOTHING_TO_AGREE;
  const hash = createHash('sha256').update(JSON.stringify(identities)).digest('hex');
  return { needed: true, hash, items: identities.flatMap((identity) => byIdentity.get(identity) ?? []) };
}

const identityOf = ({ kind, name, value, contents }: GitSettingItem): string =>
  JSON.stringify([kind, name, value, contents]);
