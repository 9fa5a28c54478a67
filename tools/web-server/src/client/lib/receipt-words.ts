import type { ReceiptCall, ReceiptReason } from '@callboard/contract';

/** Why tool calls ran or did not, after their number. */
export const REASON_WORDS: Readonly<Record<ReceiptReason, string>> = {
  person: 'allowed by a person',
  rule: 'allowed by a rule',
  hook: 'allowed by a hook',
  mode: 'allowed by the permission mode',
  classifier: 'allowed by the safety check of auto mode',
  'claude-code': 'ran without asking, by what Claude Code allows itself',
  'denied-by-person': 'denied by a person',
  'denied-by-time': 'denied because nobody answered in time',
  'denied-by-claude-code': 'denied by Claude Code',
  'not-run': 'did not run',
  'no-record': 'without a record of what let them run',
};

/** Why one call ran or did not: who, by which rule, with which words. */
export function callReason({ reason, by, detail }: ReceiptCall): string {
  if (reason === 'rule' && detail !== null)
    return `allowed by a rule, covered by ${detail}${by === null ? '' : `, which ${by} gave`}`;
  const words = reason === 'no-record' ? 'without a record of what let it run' : REASON_WORDS[reason];
  const who = by === null ? words : words.replace('a person', by);
  return detail === null ? who : `${who} (${detail})`;
}
