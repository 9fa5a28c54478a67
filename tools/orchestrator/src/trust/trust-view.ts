import type { ProjectTrust, TrustItem } from '@callboard/contract';
import type { AgreedSettings } from '../store/records.ts';
import { type RowCaches, sha256, type TrustContent } from './content.ts';
import type { Found } from './settings-items.ts';

/** The limit of items that a person can review; the rest is counted. */
const MAX_SHOWN = 300;
const MAX_VALUE_LENGTH = 2_000;

/** The settings found on disk, and what was agreed to. */
export interface ReviewedSettings {
  content: TrustContent;
  agreed: AgreedSettings;
  /** Rules in the user's own settings that nobody has seen yet. */
  newOfUser: Found[];
  /** What Callboard's own file in the repository would run. */
  ofFile: Found[];
}

/** Identifies a rule or folder that a person allowed in a terminal. */
export const personalKey = ({ kind, value }: Pick<Found, 'kind' | 'value'>): string => `${kind}:${value}`;

/** Identifies something that Callboard's own file in the repository would run. */
export const commandKey = ({ text, value }: Pick<Found, 'text' | 'value'>): string => `${text}\n${value}`;

/** Whether a person agreed to the repository's settings as a whole. */
export const isTrusted = ({ content, agreed }: Pick<ReviewedSettings, 'content' | 'agreed'>): boolean =>
  content.items.length === 0 || agreed.contents.some(({ hash }) => hash === content.hash);

/** Returns what a person is shown before they agree. */
export function viewOf({ content, agreed, newOfUser, ofFile }: ReviewedSettings): ProjectTrust {
  const known = new Set(agreed.contents.flatMap(({ fingerprints }) => fingerprints));
  const items = [
    ...content.items.map((item) => shown(item, !known.has(item.fingerprint))),
    ...content.personal.map((item) => shown(item, !agreed.personal.includes(personalKey(item)))),
    ...newOfUser.map((item) => shown(item, true)),
    ...ofFile.map((item) => shown(item, !agreed.commands.includes(commandKey(item)))),
  ];
  const personal = [...content.personal, ...newOfUser];
  const hasNewPersonal = personal.some(
    (item) => newOfUser.includes(item) || !agreed.personal.includes(personalKey(item)),
  );
  const hasNewCommand = ofFile.some((item) => !agreed.commands.includes(commandKey(item)));
  const needed = !isTrusted({ content, agreed }) || hasNewPersonal || hasNewCommand;
  return { needed, hash: viewHash(content, personal, ofFile), items: bounded(items) };
}

const viewHash = (
  { hash, items }: TrustContent,
  personal: readonly (RowCaches | Found)[],
  ofFile: readonly Found[],
): string =>
  items.length + personal.length + ofFile.length === 0
    ? ''
    : sha256(
        [
          hash,
          ...personal.map((item) => `${item.file} ${personalKey(item)}`).toSorted(),
          ...ofFile.map(commandKey).toSorted(),
        ].join('\n'),
      );

const shown = ({ kind, text, value, file }: Found, isNew: boolean): TrustItem => ({
  kind,
  text,
  file,
  isNew,
  value: value.length > MAX_VALUE_LENGTH ? `${value.slice(0, MAX_VALUE_LENGTH)} … (${value.length} characters)` : value,
});

function bounded(items: TrustItem[]): TrustItem[] {
  if (items.length <= MAX_SHOWN) return items;
  const more = `${items.length - MAX_SHOWN} more are not shown here. Look at the files themselves.`;
  return [
    ...items.toSorted((a, b) => Number(b.isNew) - Number(a.isNew)).slice(0, MAX_SHOWN),
    { kind: 'other', text: more, value: '', file: '', isNew: items.some(({ isNew }) => isNew) },
  ];
}
