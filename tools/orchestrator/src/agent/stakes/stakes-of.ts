import type { PendingRequest, Risk, ToolInput } from '@callboard/contract';
import { textField } from '../describe-tool.ts';
import { type Finding, risksFrom, UNKNOWN } from './findings.ts';
import { hostOf } from './hosts.ts';
import { pathFindings } from './paths.ts';
import { shellFindings } from './shell-findings.ts';

type Asked = Pick<PendingRequest, 'kind' | 'toolName' | 'input' | 'blockedPath'>;

/**
 * What is known to be at risk in a request, the gravest first. Empty only for what is known to read files of the worktree and do nothing
 * else, and for requests that run nothing. Never throws.
 */
export function risksOf(asked: Asked, worktree: string | null): Risk[] {
  try {
    return risksFrom(findingsOf(asked, worktree));
  } catch {
    return risksFrom([{ ...UNKNOWN, command: null }]);
  }
}

function findingsOf({ kind, toolName, input, blockedPath }: Asked, worktree: string | null): Finding[] {
  if (kind === 'network') return [network('Connects to', textField(input, 'host'))];
  if (kind !== 'approval') return [];
  const found = toolFindings(toolName, input, worktree);
  if (blockedPath === null || toolName === 'Bash') return found;
  return [...found, ...touched([blockedPath], worktree, true)];
}

const READS = ['Read', 'Glob', 'Grep', 'LS', 'NotebookRead'];
const WRITES = ['Write', 'Edit', 'MultiEdit', 'NotebookEdit'];
/** They run nothing themselves: what an agent does is asked for on its own. */
const RUNS_NOTHING = ['Task', 'Agent', 'TodoWrite', 'TaskOutput', 'BashOutput'];

function toolFindings(toolName: string, input: ToolInput, worktree: string | null): Finding[] {
  if (toolName === 'Bash') return shellFindings(textField(input, 'command'), worktree);
  if (READS.includes(toolName)) return touched(pathsIn(input, toolName === 'Glob'), worktree, false);
  if (WRITES.includes(toolName)) return touched(pathsIn(input, false), worktree, true);
  if (RUNS_NOTHING.includes(toolName)) return [];
  if (toolName === 'WebFetch') return [network('Fetches a page from', hostOf(textField(input, 'url')) ?? '')];
  if (toolName === 'WebSearch') return [network('Searches the web', '')];
  return [{ ...UNKNOWN, command: null }];
}

const network = (lead: string, host: string): Finding =>
  host === '' && lead !== 'Searches the web'
    ? { code: 'network', lead: 'Uses the network', command: null }
    : { code: 'network', lead, subject: host === '' ? undefined : host, command: null };

/** The paths that a call names. A pattern of Glob is one if it searches elsewhere. */
function pathsIn(input: ToolInput, withPattern: boolean): string[] {
  const paths = ['file_path', 'notebook_path', 'path', 'glob'].map((name) => textField(input, name));
  const pattern = withPattern ? textField(input, 'pattern') : '';
  return [...paths, pattern].filter((path) => path !== '');
}

const touched = (paths: readonly string[], worktree: string | null, writes: boolean): Finding[] =>
  paths
    .flatMap((path) => pathFindings(path, { folder: worktree, worktree, writes }))
    .map((found) => ({ ...found, command: null }));
