import {
  type BoardView,
  byWhom,
  type Decision,
  type PendingRequest,
  type Project,
  type StageView,
} from '@callboard/contract';
import { CliError, UsageError } from '../errors.ts';
import type { Hint } from './api-client.ts';
import { visibleLine } from './text.ts';

const MAX_NAMED = 8;

/**
 * Finds a stage by its id, the beginning of its id, or the number of a `STAGE-<n>`.
 * @throws UsageError if there is none, or several
 */
export function findStage(board: Pick<BoardView, 'stages'>, text: string, hint: Hint): StageView {
  const wanted = text.toLowerCase();
  const names = [wanted, `stage-${wanted}`];
  const exact = board.stages.find(({ id }) => names.includes(id.toLowerCase()));
  if (exact !== undefined) return exact;
  const found = board.stages.filter(({ id }) => id.toLowerCase().startsWith(wanted));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  if (only === undefined) throw new UsageError(`there is no stage ${JSON.stringify(text)}. List them: ${hint('ls')}`);
  throw new UsageError(
    `${JSON.stringify(text)} is the beginning of several stages: ${named(found.map(({ id }) => id))}.`,
  );
}

/**
 * Finds an open request by its id or the beginning of it; null if none is open.
 * @throws UsageError if there are several
 */
export function findRequest(pending: readonly PendingRequest[], text: string): PendingRequest | null {
  const exact = pending.filter(({ requestId }) => requestId === text);
  const found = exact.length > 0 ? exact : pending.filter(({ requestId }) => requestId.startsWith(text));
  if (found.length > 1) {
    const list = found.map(({ requestId, stageId }) => `${requestId} (${stageId})`);
    throw new UsageError(`${JSON.stringify(text)} is the beginning of several requests: ${named(list)}.`);
  }
  return found[0] ?? null;
}

/** Says what became of a request that is not open. */
export function notOpen(decisions: readonly Decision[], text: string, hint: Hint): CliError {
  const decision = decisions.find(({ requestId }) => requestId.startsWith(text));
  const next = `The open ones: ${hint('pending')}`;
  if (decision === undefined) return new CliError(`there is no open request ${JSON.stringify(text)}. ${next}`);
  return new CliError(`this request of ${decision.stageId} is no longer open: ${outcomeText(decision)}. ${next}`);
}

/** Says who decided a request, and what. */
export function outcomeText(decision: Decision): string {
  const { outcome, reason } = decision;
  if (outcome === 'closed')
    return `closed without an answer${reason === null ? '' : ` (${visibleLine(reason, 'prose')})`}`;
  if (outcome === 'timed-out') return 'denied, since nobody answered in time';
  return visibleLine(`${outcome} ${byWhom(decision)}`.trim(), 'prose');
}

/**
 * Returns the shortest beginning that names each request, of at least eight characters.
 * @returns by request
 */
export function shortIds(pending: readonly PendingRequest[]): ReadonlyMap<PendingRequest, string> {
  const ids = pending.map(({ requestId }) => String(requestId));
  const short = (id: string) => {
    for (let length = 8; length < id.length; length += 1) {
      const start = id.slice(0, length);
      if (ids.filter((other) => other.startsWith(start)).length === 1) return start;
    }
    return id;
  };
  return new Map(pending.map((request) => [request, short(request.requestId)]));
}

/** Finds a project by its id or name, whatever the case; null if there is none. @throws UsageError if several have the name */
export function findProject(projects: readonly Project[], text: string): Project | null {
  const wanted = text.toLowerCase();
  const byId = projects.find(({ id }) => id.toLowerCase() === wanted);
  if (byId !== undefined) return byId;
  const found = projects.filter(({ name }) => name.toLowerCase() === wanted);
  if (found.length > 1)
    throw new UsageError(`several projects are named ${text}: ${named(found.map(({ id }) => id))}.`);
  return found[0] ?? null;
}

/** Returns the project of a folder, or of one above it, or the only one; null if that does not tell. */
export function projectAt(projects: readonly Project[], folder: string): Project | null {
  const around = projects
    .filter(({ path }) => `${folder}/`.startsWith(`${path}/`))
    .sort((a, b) => b.path.length - a.path.length);
  return around[0] ?? (projects.length === 1 ? (projects[0] ?? null) : null);
}

/** Names a few things in a sentence. */
export function named(texts: readonly string[]): string {
  const shown = texts.slice(0, MAX_NAMED).join(', ');
  return texts.length > MAX_NAMED ? `${shown}, and ${texts.length - MAX_NAMED} more` : shown;
}
