import {
  RECEIPT_TEXTS,
  type Receipt,
  type ReceiptCall,
  type ReceiptReason,
  type ReceiptTurn,
  receiptCounts,
} from '@callboard/contract';

/** Those that are named one by one: somebody decided, or nothing is known. All others are only counted. */
const NAMED: readonly ReceiptReason[] = [
  'person',
  'rule',
  'hook',
  'denied-by-person',
  'denied-by-time',
  'denied-by-claude-code',
];

const MAX_LENGTH = 12_000;
const NAMED_CALLS = 40;

/** The receipt as Markdown, folded, for the text of a pull request or a git note; bounded. */
export function receiptMarkdown(receipt: Receipt): string {
  const { total, totals, turns, others, gaps } = receipt;
  const counts = receiptCounts(totals).map(({ count, text }) => `- ${count} ${text}`);
  const rest = [
    ...turns.map(turnText).filter((text) => text !== ''),
    ...(others.length === 0
      ? []
      : [['**Besides tool calls**', '', ...others.slice(0, NAMED_CALLS).map(otherText)].join('\n')]),
  ];
  const head = [
    '<details>',
    `<summary>Receipt: ${total} tool ${total === 1 ? 'call' : 'calls'} in ${turns.length} ${turns.length === 1 ? 'turn' : 'turns'}, and who consented</summary>`,
    '',
    ...counts,
    '',
    ...(gaps.length === 0 ? [] : ['**Not known**', '', ...gaps.slice(0, 20).map((gap) => `- ${plain(gap)}`), '']),
  ].join('\n');
  return `${head}${bounded(rest)}\n\n</details>`.replaceAll(/\n{3,}/g, '\n\n');
}

function bounded(parts: readonly string[]): string {
  const saved: string[] = [];
  let size = 0;
  for (const part of parts) {
    size += part.length;
    if (size > MAX_LENGTH) return [...saved, `... and ${parts.length - saved.length} more turns`].join('\n\n');
    saved.push(part);
  }
  return saved.join('\n\n');
}

function turnText({ number, message, by, calls }: ReceiptTurn): string {
  const named = calls.filter(({ reason, changed }) => NAMED.includes(reason) || changed !== undefined);
  if (named.length === 0) return '';
  const who = message === null ? 'begun by Claude Code' : `${by ?? 'Callboard'}: ${plain(message)}`;
  const more = named.length - NAMED_CALLS;
  return [
    `**Turn ${number}**, ${who}`,
    '',
    ...named.slice(0, NAMED_CALLS).map(callText),
    ...(more > 0 ? [`- ... and ${more} more`] : []),
  ].join('\n');
}

function callText(call: ReceiptCall): string {
  const { changed } = call;
  const who = changed?.hook == null ? 'a hook' : `the hook ${code(changed.hook)}`;
  return `${reasonText(call)}${changed === undefined ? '' : `; ${who} changed it from ${code(changed.from)}`}`;
}

function reasonText({ asked, reason, by, detail }: ReceiptCall): string {
  const how =
    by === null || reason === 'rule' ? RECEIPT_TEXTS[reason] : RECEIPT_TEXTS[reason].replace('a person', plain(by));
  if (reason !== 'rule' || detail === null)
    return `- ${code(asked)}: ${how}${detail === null ? '' : ` (${plain(detail)})`}`;
  return `- ${code(asked)}: ${how} (covered by ${code(detail)}${by === null ? '' : `, which ${plain(by)} gave`})`;
}

const otherText = ({ kind, asked, outcome, by }: Receipt['others'][number]): string =>
  `- ${code(asked === '' ? kind : asked)}: ${outcome}${by === null ? '' : ` by ${plain(by)}`}`;

/** Text of others, in one line, that is no markup. */
const plain = (text: string): string =>
  text
    .replaceAll(/\s+/g, ' ')
    .slice(0, 300)
    .replaceAll(/[\\`*_{}[\]<>()#+!|@~]/g, (sign) => `\\${sign}`);

/** Code that nothing in it can end. */
function code(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').slice(0, 300);
  const longest = Math.max(0, ...[...line.matchAll(/`+/g)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence} ${line} ${fence}`;
}
