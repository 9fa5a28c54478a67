import { run } from '../lib/processes/processes.ts';

/** How large worktrees are. A program of its own measures them, one after another, so that nothing waits for it. */
export interface WorktreeSizes {
  of(path: string): { bytes: number | null; measuredAt: string | null };
  /** Measures those whose size is unknown or old, in the background. @returns whether any is still to be measured */
  ask(paths: readonly string[]): boolean;
  /** Ends the measuring. */
  stop(): Promise<void>;
}

/** After this long a size is measured again when somebody asks for it. */
const OLD_MS = 10 * 60_000;
/** A worktree with millions of files takes minutes. */
const LIMIT_MS = 5 * 60_000;

export interface WorktreeSizesDeps {
  env: Readonly<Record<string, string>>;
  now: () => Date;
  uptimeMs: () => number;
}

export function createWorktreeSizes({ env, now, uptimeMs }: WorktreeSizesDeps): WorktreeSizes {
  const known = new Map<string, { bytes: number | null; measuredAt: string; uptimeMs: number }>();
  const wanted = new Set<string>();
  const stopping = new AbortController();
  let work: Promise<void> | null = null;

  async function measure(): Promise<void> {
    for (const path of wanted) {
      const job = { command: 'du', args: ['-sk', path], env: { ...env, LC_ALL: 'C' }, timeoutMs: LIMIT_MS };
      const { stdout, wasKilled } = await run(job, stopping.signal);
      if (stopping.signal.aborted) return;
      // A file that vanished meanwhile makes it fail with a sum all the same.
      const kilobytes = wasKilled ? null : /^(\d+)\s/.exec(stdout)?.[1];
      const bytes = kilobytes == null ? null : Number(kilobytes) * 1024;
      known.set(path, { bytes, measuredAt: now().toISOString(), uptimeMs: uptimeMs() });
      wanted.delete(path);
    }
    work = null;
  }

  return {
    of(path) {
      const { bytes = null, measuredAt = null } = known.get(path) ?? {};
      return { bytes, measuredAt };
    },
    ask(paths) {
      for (const path of paths) {
        const measured = known.get(path);
        if (measured === undefined || uptimeMs() - measured.uptimeMs > OLD_MS) wanted.add(path);
      }
      if (wanted.size > 0 && !stopping.signal.aborted) work ??= measure();
      return wanted.size > 0;
    },
    async stop() {
      stopping.abort();
      await work;
    },
  };
}
