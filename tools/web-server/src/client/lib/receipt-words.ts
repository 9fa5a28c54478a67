import { RECEIPT_TEXTS, type ReceiptCall } from '@callboard/contract';

/** Why one call ran or did not: who, by which rule, with which words. */
export function callReason({ reason, by, detail }: ReceiptCall): string {
  if (reason === 'rule' && detail !== null)
    return `allowed by a rule, covered by ${detail}${by === null ? '' : `, which ${by} gave`}`;
  const text = RECEIPT_TEXTS[reason];
  const who = by === null ? text : text.replace('a person', by);
  return detail === null ? who : `${who} (${detail})`;
}
