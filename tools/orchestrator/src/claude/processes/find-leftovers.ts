import { type ProcessIdentity, selfIdentity } from '@callboard/runtime/process-identity';
import { folderOf, outputsOf, type ProcessRow, readProcessTable } from './process-table.ts';

/** How to recognise the processes of an ended launch, even those without its marker. */
export interface LaunchSigns {
  /** Processes seen during the launch, or when it ended. */
  known: readonly ProcessIdentity[];
  /** The last processes that `claude` started, with their start times: each Bash command leads its own Unix session. */
  shells: ReadonlyMap<number, string>;
  /** Bash commands print to files in a folder that is named after the conversation. */
  conversationId: string | null;
  /** The launch's worktree, and its start time. An orphan there whose Unix session has lost its first process counts as the launch's own. */
  place: { worktree: string; since: string } | null;
  /** Pids to exclude: those of launches that continue. */
  except: ReadonlySet<number>;
}

/** Finds the living processes of a launch, those in a Unix session with one of them, and everything they have started. */
export async function findLeftovers(signs: LaunchSigns): Promise<ProcessRow[]> {
  const [rows, self] = await Promise.all([readProcessTable(), selfIdentity()]);
  const ours = rows.find(({ pid }) => pid === self.pid)?.session;
  const candidates = rows.filter(({ pid, session }) => session > 1 && session !== ours && !signs.except.has(pid));
  const byPid = new Map(rows.map((row) => [row.pid, row]));
  const known = new Set(
    signs.known.filter(({ bootId }) => bootId === self.bootId).map(({ pid, startTime }) => `${pid} ${startTime}`),
  );
  const matches = async (row: ProcessRow) =>
    known.has(`${row.pid} ${row.startTime}`) ||
    isOfShell(row, byPid, signs.shells) ||
    (signs.conversationId !== null && (await printsFor(row.pid, signs.conversationId))) ||
    (signs.place !== null && (await isOrphanIn(row, byPid, signs.place)));
  const matched = await Promise.all(candidates.map(matches));
  return withRelated(
    candidates.filter((_, index) => matched[index]),
    candidates,
  );
}

/** A session is named after its first process; that pid may have been reused since. */
function isOfShell(
  { session }: ProcessRow,
  byPid: ReadonlyMap<number, ProcessRow>,
  shells: ReadonlyMap<number, string>,
): boolean {
  const started = shells.get(session);
  if (started === undefined) return false;
  const leader = byPid.get(session);
  return leader === undefined || leader.startTime === started;
}

async function printsFor(pid: number, conversationId: string): Promise<boolean> {
  return (await outputsOf(pid)).some((path) => path.includes(`/${conversationId}/tasks/`));
}

/**
 * For a process whose shell ended too quickly to be seen. A program that a person has open is in the session of its
 * terminal's shell, or leads a session itself.
 */
async function isOrphanIn(
  row: ProcessRow,
  byPid: ReadonlyMap<number, ProcessRow>,
  { worktree, since }: { worktree: string; since: string },
): Promise<boolean> {
  if (byPid.has(row.session) || Number(row.startTime) < Number(since)) return false;
  const folder = await folderOf(row.pid);
  return folder !== null && (folder === worktree || folder.startsWith(`${worktree}/`));
}

/** Adds children and members of the same Unix sessions until there are no more. */
function withRelated(seeds: readonly ProcessRow[], rows: readonly ProcessRow[]): ProcessRow[] {
  const found = new Set(seeds);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    const pids = new Set([...found].map(({ pid }) => pid));
    const sessions = new Set([...found].map(({ session }) => session));
    for (const row of rows) if (pids.has(row.parent) || sessions.has(row.session)) found.add(row);
  }
  return [...found];
}
