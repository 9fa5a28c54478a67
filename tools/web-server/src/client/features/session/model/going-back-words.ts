import { isActive, type NotSaved, type RewindBlocked, type RewindPlan, type StageView } from '@callboard/contract';
import { count, formatSize } from '../../../lib/format.ts';

type Files = NonNullable<RewindPlan['files']>;

/** What becomes of a file; nothing is said of one that only changes. */
export const fileText = ({ status }: Files['changes'][number]): string | null =>
  status === 'added' ? 'comes back' : status === 'deleted' ? 'is removed' : null;

const BLOCKED: Readonly<Record<RewindBlocked['reason'], string>> = {
  'in-the-way': 'something that is not kept stands in its place',
  submodule: 'a repository of its own',
  name: 'its name is not UTF-8',
  'changed-since': 'changed meanwhile',
};

const NOT_SAVED: Readonly<Record<NotSaved['reason'], string>> = {
  ignored: 'ignored by git',
  'nested-repository': 'a repository of its own',
  'too-large': 'over 50 MB',
  unreadable: 'cannot be read',
};

interface Staying {
  path: string;
  why: string;
}

/** What differs from then and cannot be restored. */
export const blockedFiles = ({ blocked }: Files): Staying[] =>
  blocked.map(({ path, reason }) => ({ path, why: BLOCKED[reason] }));

/** What is in no snapshot. */
export const unsavedFiles = ({ notKept }: Files): Staying[] =>
  notKept.map(({ path, reason, bytes }) => ({ path, why: bytes === null ? NOT_SAVED[reason] : formatSize(bytes) }));

/** What happens to the commits since that moment; null if there are none. */
export const commitsText = ({ commits }: Files): string | null =>
  commits === 0
    ? null
    : `${count(commits, 'commit')} since then ${commits === 1 ? 'stays' : 'stay'} on the branch. What ${commits === 1 ? 'it' : 'they'} changed shows as uncommitted changes that revert it.`;

/** What happens to the conversation. */
export function conversationText({ messages, isNew }: NonNullable<RewindPlan['conversation']>): string {
  const taken = `${messages === 1 ? 'This message' : `${messages} messages`} and all that followed are taken back.`;
  return isNew
    ? `${taken} The next message begins a new conversation.`
    : `${taken} Claude goes on from what was said before.`;
}

/** What a person wants to go back with. */
export interface Wants {
  files: boolean;
  conversation: boolean;
}

/** What can go back: files only if one would change. */
export const possible = ({ files, conversation }: RewindPlan): Wants => ({
  files: files !== null && files.counts.files > 0,
  conversation: conversation !== null,
});

/** Whether Claude has to be interrupted before the stage goes back. */
export const isWorking = ({ session }: StageView): boolean => session !== null && isActive(session.state);
