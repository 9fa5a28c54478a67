import type { PermissionMode } from '@callboard/contract';

/** What each permission mode means for whoever is asked. */
const MODES: Record<PermissionMode, string> = {
  default: 'Ask before edits and commands',
  acceptEdits: 'Edit freely, ask for the rest',
  plan: 'Plan first, change nothing',
  dontAsk: 'Never ask, deny what no rule allows',
  auto: 'Let a classifier decide',
  bypassPermissions: 'Allow everything',
};

export const MODE_OPTIONS = Object.entries(MODES).map(([value, label]) => ({ value, label }));

/** The modes that a session can change to while it runs: Claude Code takes the last one only where it was started with it. */
export const modeOptionsOf = (isLive: boolean, ...has: readonly string[]) =>
  MODE_OPTIONS.filter(({ value }) => value !== 'bypassPermissions' || !isLive || has.includes(value));

/** A mode in words; one that is not known, as Claude named it. */
export const modeWords = (mode: string): string => MODE_OPTIONS.find((option) => option.value === mode)?.label ?? mode;
