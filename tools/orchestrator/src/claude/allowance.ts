import type { RanBy } from '@callboard/contract';

/** `permission_decision` of a call that ran, as Claude Code tells it. */
interface Permission {
  source: string;
  reason_type?: string | null | undefined;
}

const BY_REASON: Readonly<Record<string, RanBy>> = {
  rule: 'rule',
  subcommandResults: 'parts', // also for a command that only reads (seen with `ls`)
  mode: 'mode',
  classifier: 'classifier',
};

/** Returns what let a call run: what Callboard checks, and what a receipt says. Nothing if Claude Code does not tell. */
export function allowance(permission: Permission | undefined): {
  underRule?: true;
  unruled?: true;
  ranBy?: RanBy;
} {
  if (permission === undefined) return {};
  const { source, reason_type: reason } = permission;
  if (source === 'hook') return { ranBy: 'hook' };
  if (source.startsWith('user_')) return { ranBy: 'person' };
  if (source !== 'config') return { ranBy: 'other' };
  return {
    underRule: true,
    ...(reason === 'other' && { unruled: true as const }),
    ranBy: BY_REASON[reason ?? ''] ?? 'other',
  };
}
