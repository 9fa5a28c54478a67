import { createHash } from 'node:crypto';
import { GitSettingItem, type GitSettings, NOTHING_TO_AGREE } from '@callboard/contract';
import { z } from 'zod';

/** What a person has said about the git settings of a repository. */
export const GitAgreement = z.object({
  /** What stood there when the repository was registered, and what was agreed to since. */
  agreed: z.array(GitSettingItem),
  /** What was found since, and is left off. */
  pending: z.array(GitSettingItem),
});
export type GitAgreement = z.infer<typeof GitAgreement>;

/** Whether this was agreed to. A value whose file is not there runs nothing, so that its text alone counts. */
export function isAgreed(agreed: readonly GitSettingItem[], item: GitSettingItem): boolean {
  return agreed.some(
    (one) =>
      one.kind === item.kind &&
      one.name === item.name &&
      (item.kind === 'hook' || one.value === item.value) &&
      (one.contents === item.contents || (item.contents === null && item.kind !== 'hook')),
  );
}

/** What a person is told, without what is twice the same in two worktrees. */
export function gitSettingsOf(pending: readonly GitSettingItem[]): GitSettings {
  const byIdentity = new Map(pending.map((item) => [identityOf(item), item]));
  const identities = [...byIdentity.keys()].sort();
  if (identities.length === 0) return NOTHING_TO_AGREE;
  const hash = createHash('sha256').update(JSON.stringify(identities)).digest('hex');
  return { needed: true, hash, items: identities.flatMap((identity) => byIdentity.get(identity) ?? []) };
}

const identityOf = ({ kind, name, value, contents }: GitSettingItem): string =>
  JSON.stringify([kind, name, value, contents]);
