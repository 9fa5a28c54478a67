import { type ProcessIdentity, selfIdentity } from '@callboard/runtime/process-identity';
import { folderOf, outputsOf, type ProcessRow, readProcessTable } from './process-table.ts';

/** What tells the processes of an ended launch, also those that have dropped its marker. */
export interface LaunchSigns {
  /** Seen while it lived, or when it ended. */
  known: readonly ProcessIdentity[];
  /** What `claude` had started last, with their start times: each Bash command leads a Unix session of its own. */
  shells: ReadonlyMap<number, string>;
  /** Bash commands print to files in a folder that is named after the conversation. */
  conversationId: string | null;
  /** Where it worked, and since when as a start time: an orphan there whose Unix session has lost its first process is taken for one of its own. */
  place: { worktree: string; since: string } | null;
  /** Pids that are not meant: of launches that go on. */
  except: ReadonlySet<number>;
}

/** Those that live, those in a Unix session with one of them, and all that they have started. */
export async function findLeftovers(signs: LaunchSigns): Promise<ProcessRow[]> {
  const [rows, self] = await Promise.all([readProcessTable(), selfIdentity()]);
  const ours = rows.find(({ pid }) => pid === self.pid)?.session;
  const candidates = rows.filter(({ pid, session }) => session > 1 && session !== ours && !signs.except.has(pid));
  const byPid = new Map(rows.map((row) => [row.pid, row]));
  const known = new Set(
    signs.known.filter(({ bootId }) => bootId === self.bootId).map(({ pid, startTime }) => `${pid} ${startTime}`),
  );
  const isMeant = async (row: ProcessRow) =>
    known.has(`${row.pid} ${row.startTime}`) ||
    isOfShell(row, byPid, signs.shells) ||
    (signs.conversationId !== null && (await printsFor(row.pid, signs.conversationId))) ||
    (signs.place !== null && (await isOrphanIn(row, byPid, signs.place)));
  const meant = await Promise.all(candidates.map(isMeant));
  return withTheirs(
    candidates.filter((_, place) => meant[place]),
    candidates,
  );
}

/** A session is named after its first process; that pid may have been used again since. */
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

/** The shell that started it was too quick to be seen. What people have open has its terminal's shell, or leads a session itself. */
async function isOrphanIn(
  row: ProcessRow,
  byPid: ReadonlyMap<number, ProcessRow>,
  { worktree, since }: { worktree: string; since: string },
): Promise<boolean> {
  if (byPid.has(row.session) || Number(row.startTime) < Number(since)) return false;
  const folder = await folderOf(row.pid);
  return folder !== null && (folder === worktree || folder.startsWith(`${worktree}/`));
}

function withTheirs(seeds: readonly ProcessRow[], rows: readonly ProcessRow[]): ProcessRow[] {
  const found = new Set(seeds);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    const pids = new Set([...found].map(({ pid }) => pid));
    const sessions = new Set([...found].map(({ session }) => session));
    for (const row of rows) if (pids.has(row.parent) || sessions.has(row.session)) found.add(row);
  }
  return [...found];
}
