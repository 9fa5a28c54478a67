import { type BoardNotices, NOTHING_STORED } from '@callboard/contract';
import type { Budgets } from '../budgets/budgets.ts';
import type { DiskWatch } from '../disk/disk-watch.ts';
import type { WriteWatch } from '../disk/write-watch.ts';
import type { ClaudeWatch } from '../doctor/claude-watch.ts';
import type { LoginWatch } from '../doctor/login-watch.ts';
import type { SandboxWatch } from '../doctor/sandbox-watch.ts';
import type { Logger } from '../lib/logger.ts';
import type { StartDelays } from '../scheduler/start-gates.ts';
import type { ReAttaching } from '../sessions/launch/re-attach-launches.ts';
import { isStorageFailure, textWithOutlook } from '../store/storage-failure.ts';

/** Where the notices come from. */
export interface NoticeSources {
  claude: Pick<ClaudeWatch, 'warnings'>;
  sandbox: Pick<SandboxWatch, 'support'>;
  login: Pick<LoginWatch, 'state'>;
  disk: Pick<DiskWatch, 'diskPauseReason'>;
  writes: Pick<WriteWatch, 'storageError'>;
  reAttaching: Pick<ReAttaching, 'storageError'>;
  startHolds: Pick<StartDelays, 'current'>;
  budgets: Pick<Budgets, 'list'>;
}

/** Returns the notices of the board: its warnings, why nothing is started, what holds automatic starts, the budgets, whether the sandbox works, and whether Claude Code can work. */
export const boardNotices = (machine: NoticeSources): Promise<BoardNotices> =>
  noticesWith(machine, machine.budgets.list, machine.writes.storageError);

/**
 * Returns a function that passes on the notices of the board. A failing store is told even if it can write again before
 * the warnings are read: a nearly full disk takes one write and refuses the next. Calls are served in their order, so
 * that the newest state comes last.
 */
export function createNoticeTeller(machine: NoticeSources, onNotices: (notices: BoardNotices) => void, log: Logger) {
  let last = Promise.resolve();
  let budgets: BoardNotices['budgets'] | null = null;
  /**
   * A shared store that is out of reach cannot be read either, and one that stands still would keep the reader waiting for long.
   * That is what has to be told: the budgets stay as they were.
   */
  const readBudgets = async (canWrite: boolean) => {
    try {
      if (canWrite || budgets === null) budgets = await machine.budgets.list();
    } catch (error) {
      if (!isStorageFailure(error)) throw error;
    }
    return budgets ?? [];
  };
  return (): void => {
    const storageError = machine.writes.storageError();
    last = last
      .then(() =>
        noticesWith(
          machine,
          () => readBudgets(storageError === null),
          () => storageError,
        ),
      )
      .then(onNotices, (error: unknown) => log.error({ err: error }, 'reading the notices failed'));
  };
}

async function noticesWith(
  machine: NoticeSources,
  readBudgets: Budgets['list'],
  storageErrorOfWrites: WriteWatch['storageError'],
): Promise<BoardNotices> {
  const { claude, sandbox, login, disk, reAttaching, startHolds } = machine;
  const warnings = await claude.warnings();
  const budgets = await readBudgets();
  const storageError = storageErrorOfWrites(); // after the wait, as everything below: the newest state
  const ofStore = storageError === null ? null : `${NOTHING_STORED}${textWithOutlook(storageError)}`;
  const ofCallboard = [ofStore, reAttaching.storageError()].filter((text) => text !== null);
  const paused = disk.diskPauseReason();
  return {
    warnings: [...ofCallboard, ...warnings],
    paused,
    startHolds: startHolds.current(),
    budgets,
    sandbox: sandbox.support(),
    claude: login.state(),
  };
}
