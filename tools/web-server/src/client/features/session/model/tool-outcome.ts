import { count, exactDuration } from '../../../lib/format.ts';
import { lineDiff } from '../../../lib/line-diff.ts';
import { memoizeByObject } from '../../../lib/memoize.ts';
import { field } from '../../../lib/tool-words.ts';
import { inputOf, type ToolItem } from './transcript-items.ts';

/** Who changed or allowed the call, if it was nobody here. */
export function doneElsewhere({ result, changed }: ToolItem): string {
  const isAllowed = result?.allowedBy === 'hook';
  if (changed !== null) return isAllowed ? 'changed and allowed by a hook' : 'changed by a hook';
  return isAllowed ? 'allowed by a hook' : '';
}

/** The outcome of a tool call in a word or two, for the end of its line. */
export function toolOutcome({ result, decisions }: ToolItem): string {
  if (result === null) return '';
  if (decisions.some((decision) => decision.outcome === 'denied')) return 'denied';
  if (result.stopped !== undefined) return 'stopped';
  if (result.sandboxFailure?.isCertain === true) return 'blocked by the sandbox';
  if (result.isError) return 'failed';
  return '';
}

/** The lines that a call added and removed, as far as its input tells; none if it did not succeed. */
export const lineChanges = memoizeByObject((tool: ToolItem) => {
  const { use, result, decisions } = tool;
  const input = inputOf(tool);
  const isDone = result !== null && !result.isError && !decisions.some((decision) => decision.outcome === 'denied');
  if (isDone && use.toolName === 'Write') return { added: lineDiff('', field(input, 'content')).length, removed: 0 };
  if (!isDone || use.toolName !== 'Edit') return { added: 0, removed: 0 };
  const lines = lineDiff(field(input, 'old_string'), field(input, 'new_string'));
  return {
    added: lines.filter((line) => line.kind === 'added').length,
    removed: lines.filter((line) => line.kind === 'removed').length,
  };
});

/** How long the call took, without waiting for a person; empty while it runs, or if it took no time. */
export function toolDuration({ use, result, decisions }: ToolItem): string {
  if (result === null) return '';
  const waited = decisions.reduce((sum, decision) => sum + decision.waitedMs, 0);
  const took = Date.parse(result.at) - Date.parse(use.at) - waited;
  return took < 50 ? '' : exactDuration(took);
}

/** "Read 3 files, searched 2 times". */
export function lookupsText(tools: readonly ToolItem[]): string {
  const of = (...names: string[]) => tools.filter((tool) => names.includes(tool.use.toolName)).length;
  const read = of('Read', 'NotebookRead');
  const listed = of('LS');
  const searched = tools.length - read - listed;
  const text = [
    read > 0 ? `read ${count(read, 'file')}` : '',
    listed > 0 ? `listed ${count(listed, 'folder')}` : '',
    searched > 0 ? `searched ${count(searched, 'time')}` : '',
  ];
  const sentence = text.filter((word) => word !== '').join(', ');
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
