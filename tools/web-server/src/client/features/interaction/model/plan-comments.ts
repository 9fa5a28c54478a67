import type { BegunComment, PlanComment } from './request-drafts.ts';

/** Splits a plan into paragraphs, lists, headings and code blocks, so that each can be commented on. */
export function planBlocks(plan: string): string[] {
  const blocks: string[] = [];
  let lines: string[] = [];
  let fence: string | null = null;
  const close = () => {
    if (lines.length > 0) blocks.push(lines.join('\n'));
    lines = [];
  };
  for (const line of plan.split('\n')) {
    const mark = /^\s{0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? null;
    if (fence !== null) {
      lines.push(line);
      if (mark?.startsWith(fence)) fence = null;
    } else if (mark !== null) {
      fence = mark;
      lines.push(line);
    } else if (line.trim() === '') {
      close();
    } else if (/^#{1,6}\s/.test(line)) {
      close();
      blocks.push(line);
    } else if (lines.length > 0 || !/^\s+\S/.test(line) || blocks.length === 0) {
      lines.push(line);
    } else {
      // An indented line after an empty one continues the list before it.
      lines = [blocks.pop() ?? '', '', line];
    }
  }
  close();
  return blocks;
}

/** Returns the first line of a block without its Markdown: the quote above a comment. */
export function quoteOf(block: string): string {
  const line = block.split('\n').find((one) => one.trim() !== '' && !/^\s*(`{3,}|~{3,})/.test(one)) ?? '';
  const bare = line.replace(/^\s*(?:#{1,6}|[-*+]|\d+[.)]|>)\s+/, '').replaceAll(/[*_`]/g, '');
  return bare.length <= 120 ? bare : `${bare.slice(0, 119)}…`;
}

/** Returns the text that Claude reads when a plan is sent back: each comment under its quote, then the reason. */
export function sendBackReason(comments: readonly PlanComment[], reason: string): string {
  const remarks = comments.map(({ quote, text }) => `${quoted(quote)}\n${text.trim()}`);
  return [...remarks, reason.trim()].filter((part) => part !== '').join('\n\n');
}

const quoted = (text: string): string =>
  text
    .split('\n')
    .map((line) => `> ${line}`)
    .join('\n');

/** Returns all comments, including one that was started but not added, so that no written text is lost. */
export function withBegun(comments: readonly PlanComment[], begun: BegunComment | null): PlanComment[] {
  if (begun === null) return [...comments];
  return [...comments, { ...begun, text: begun.text.trim(), id: `${Date.now()}-${comments.length}` }];
}
