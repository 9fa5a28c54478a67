import { homedir } from 'node:os';
import type { Lifecycle } from '@callboard/runtime/lifecycle';
import type { OrchestratorConfig } from '@callboard/runtime/supervision';
import type { StopGraces } from '../core/launch/running-launch.ts';
import type { Logger, Platform } from '../platform/runtime.ts';
import type { LeaseTimes } from '../store/shared-store.ts';

/** The person's home folder. */
export const homeOf = ({ HOME }: Readonly<Record<string, string>>): string => HOME ?? homedir();

/** The dependencies of every part of the orchestrator. */
export interface StartContext {
  config: OrchestratorConfig;
  log: Logger;
  platform: Platform;
  limits: TimeLimits;
  /** Parts are stopped in the reverse order in which they register here. */
  life: Lifecycle;
}

/** How long things may take, and how often they happen. Tests use shorter limits. */
export interface TimeLimits {
  graces: StopGraces;
  /** From the spawn of `claude` to its answer to `initialize`. */
  initializeMs: number;
  /** How long the reply to an answer waits for the CLI's confirmation. */
  confirmationMs: number;
  /** How long an answer given with `hold` is kept back. */
  answerDelayMs: number;
  /** How long a message waits until the files from before it are kept. */
  snapshotFilesMs: number;
  /** An idle process uses some 200 MB; the next message resumes its session in under a second. */
  idleMs: number;
  watchdogCheckIntervalMs: number;
  /** How often the settings files of running sessions are checked. */
  settingsCheckIntervalMs: number;
  /** How often the free disk space is checked, and a store that cannot write is retried. */
  diskCheckIntervalMs: number;
  /** How long a commit without a sync of its own may wait for one. */
  syncMs: number;
  /** How long after a start what the search index lacks is added to it. A search waits for nothing. */
  searchDelayMs: number;
  /** How long a change waits for others before it is indexed. */
  searchLagMs: number;
  /** How long a change waits for others before people are told of it outside of the page. */
  announceLagMs: number;
  /** How often launches that could not be re-attached are retried. */
  againMs: number;
  /** How often is checked, while Claude Code is missing or not logged in, whether that has been mended. */
  loginCheckIntervalMs: number;
  /** How often the time of day is read while stages wait for a usage limit. */
  limitCheckIntervalMs: number;
  /** How long after a code host was asked about a pull request it is usually asked again. */
  pullRequestMs: number;
  /** How long this machine's lease on a shared store lasts, and how often it is renewed. */
  lease: LeaseTimes;
  /** How long after a start an untested `claude` is tested, in the background. */
  trialDelayMs: number;
}

export const TIME_LIMITS: TimeLimits = {
  graces: { interruptMs: 5_000, endSessionMs: 5_000, signalMs: 5_000 },
  initializeMs: 60_000,
  confirmationMs: 2_000,
  answerDelayMs: 2_000,
  snapshotFilesMs: 15_000,
  idleMs: 60 * 60 * 1_000,
  watchdogCheckIntervalMs: 15_000,
  settingsCheckIntervalMs: 2_000,
  diskCheckIntervalMs: 2_000,
  syncMs: 1_000,
  searchDelayMs: 2_000,
  searchLagMs: 500,
  announceLagMs: 200,
  againMs: 5_000,
  loginCheckIntervalMs: 2_000,
  limitCheckIntervalMs: 15_000,
  pullRequestMs: 60_000,
  lease: { leaseMs: 20_000, renewMs: 5_000, marginMs: 3_000 },
  trialDelayMs: 5_000,
};
