import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/**
 * A mark that a process cannot take off: the hard limit of its file locks (RLIMIT_LOCKS), which Linux has not enforced since 2.4.
 * Everything that a process starts inherits it, also when it clears its environment, begins a Unix session of its own or loses its
 * parent, and without CAP_SYS_RESOURCE a hard limit can only be lowered. So whatever is below our own limit was started by us.
 */
const ROW = /^Max file locks +\S+ +(\d+|unlimited) /m;
const UNLIMITED = 2n ** 64n - 1n;
/** Every shell can compute with it, and it leaves room for a Callboard that runs in a session of another one. */
const HIGHEST = 2n ** 53n;

/** Returns the limit of a process; null if it is gone, and where the system has no such limits. */
export async function lockLimitOf(pid: number | 'self'): Promise<bigint | null> {
  const value = ROW.exec(await readFile(`/proc/${pid}/limits`, 'utf8').catch(() => ''))?.[1];
  if (value === undefined) return null;
  return value === 'unlimited' ? UNLIMITED : BigInt(value);
}

/** Makes the marks of stages, which differ from each other and between Callboards. */
export interface ProcessMarks {
  /** The limit for what is started for this stage; null where the system has none. */
  of(stageId: string): Promise<string | null>;
  /** Whether this limit is that of a process which Callboard started for some stage. */
  isMark(limit: bigint): Promise<boolean>;
}

export function createProcessMarks(dataDir: string): ProcessMarks {
  let own: Promise<bigint | null> | undefined;
  const ownLimit = () => {
    own ??= lockLimitOf('self');
    return own;
  };
  return {
    async of(stageId) {
      const limit = await ownLimit();
      if (limit === null || limit < 4n) return null;
      const half = (limit < HIGHEST ? limit : HIGHEST) / 2n;
      const digest = createHash('sha256').update(`${dataDir}\0${stageId}`).digest('hex');
      return String(half + (BigInt(`0x${digest.slice(0, 16)}`) % half));
    },
    async isMark(limit) {
      const mine = await ownLimit();
      return mine !== null && limit < mine;
    },
  };
}

/** The flag is `-w` in dash and BusyBox and `-x` in bash. A shell that has neither starts the program without a mark. */
const SCRIPT = 'ulimit -w "$0" 2>/dev/null || ulimit -x "$0" 2>/dev/null; exec "$@"';

/** Returns the command line that runs a program with this mark, in the same process. */
export const withMark = (mark: string, command: string, args: readonly string[]) => ({
  command: '/bin/sh',
  args: ['-c', SCRIPT, mark, command, ...args],
});

/** The variable that marks our calls of git and the hooks that they run, by the pid of the orchestrator. */
export const GIT_MARKER = 'CB_GIT';
