import type { PermissionMode } from '@callboard/contract';

/** Each permission mode, in words for the person who is asked. */
const MODES: Record<PermissionMode, string> = {
  default: 'Ask before edits and commands',
  acceptEdits: 'Edit freely, ask for the rest',
  plan: 'Plan first, change nothing',
  dontAsk: 'Never ask, deny what no rule allows',
  auto: 'Let a classifier decide',
  bypassPermissions: 'Allow everything',
};

export const MODE_OPTIONS = Object.entries(MODES).map(([value, label]) => ({ value, label }));

/** The modes a session can change to. While it runs, Claude Code accepts the last one only if it was started with it. */
export const modeOptionsOf = (isLive: boolean, ...has: readonly string[]) =>
  MODE_OPTIONS.filter(({ value }) => value !== 'bypassPermissions' || !isLive || has.includes(value));

/** A mode in words; an unknown mode keeps its name. */
export const modeLabel = (mode: string): string => MODE_OPTIONS.find((option) => option.value === mode)?.label ?? mode;
