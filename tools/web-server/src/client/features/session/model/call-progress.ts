import type { PendingRequest } from '@callboard/contract';
import type { ToolItem } from './transcript-items.ts';

/** Calls that only read, and subagents: the CLI starts consecutive ones together. */
const BATCH = [
  'Read',
  'Glob',
  'Grep',
  'LS',
  'NotebookRead',
  'ToolSearch',
  'WebFetch',
  'WebSearch',
  'AskUserQuestion',
  'Agent',
  'Task',
];
/** Calls that change files: each waits for all calls before it, and all calls after it wait for it. */
const ALONE = ['Edit', 'MultiEdit', 'Write', 'NotebookEdit'];

type Beside = 'together' | 'alone' | 'unknown';

function beside({ use }: ToolItem, request: PendingRequest | undefined): Beside {
  if (BATCH.includes(use.toolName)) return 'together';
  if (ALONE.includes(use.toolName)) return 'alone';
  return use.toolName === 'Bash' && request !== undefined ? besideOfCommand(request) : 'unknown';
}

/** A command that only reads is asked for because of its path; the CLI then suggests a rule for reading there. */
function besideOfCommand({ suggestions }: PendingRequest): Beside {
  return JSON.stringify(suggestions).includes('"toolName":"Read"') ? 'together' : 'alone';
}

/**
 * How far a call without a result has got. The CLI does not report when a call begins, so this says only what is
 * certain: read-only calls of one message run at the same time, all others one after another; a command may be either.
 */
export function callProgress(tool: ToolItem, requestAt: (toolUseId: string) => PendingRequest | undefined): string {
  const request = (one: ToolItem) => requestAt(one.use.toolUseId);
  const asks = (one: ToolItem): boolean =>
    request(one) !== undefined || one.children.some((c) => c.kind === 'tool' && asks(c));
  if (asks(tool)) return 'waits for you';
  if (tool.decisions.some(({ denial }) => denial?.isDeferred === true)) return 'deferred by a hook';
  if (tool.isCutOff) return 'cut off';
  if (tool.children.length > 0) return 'running';
  const before = tool.before.filter((one) => one.result === null && !one.isCutOff);
  if (before.length === 0) return 'running';
  const ways = [tool, ...before].map((one) => beside(one, request(one)));
  if (ways.includes('alone')) return 'not started yet';
  return ways.includes('unknown') ? 'no result yet' : 'running';
}
