import type { LaunchId } from '@callboard/contract';
import type { ProcessIdentity } from '@callboard/runtime/process-identity';
import { conversationBytes } from '../../claude/conversation-damage.ts';
import { conversationTail, hooksInConversation, messagesInConversation } from '../../claude/conversation-file.ts';
import { type Channel, openSpoolOnly, openStdioChannel } from '../../claude/launch/channel.ts';
import type { AgentProcess } from '../../claude/launch/spawn-claude.ts';
import { mcpText } from '../../claude/mcp-words.ts';
import { mayUserHooksAllow } from '../../claude/user-settings.ts';
import { AppError } from '../../lib/errors.ts';
import type { LaunchRecord } from '../../store/records.ts';
import { createSessionExecutor, type ExecutorDeps } from '../executor/session-executor.ts';
import { type RunningDeps, type RunningLaunch, watchLaunch } from './running-launch.ts';
import type { StopGraces } from './stop-launch.ts';

export interface AttachDeps extends ExecutorDeps {
  /** The user's environment. */
  env: Record<string, string>;
  graces: StopGraces;
  /** As `RunningDeps.onEnded`. */
  onEnded: (launch: LaunchRecord) => void;
  onSurvivors?: RunningDeps['onSurvivors'];
  /** As `RunningDeps.onGone`. */
  onGone: (launch: LaunchRecord) => Promise<void>;
}

/** Opens the channel to a launch's process (or only the spool, if the process is gone), and watches it until everything is settled. */
export async function attachLaunch(
  deps: AttachDeps,
  launchId: LaunchId,
  process: AgentProcess,
  open: typeof openStdioChannel = openStdioChannel,
): Promise<RunningLaunch> {
  const { store, platform, log, env, graces } = deps;
  const launch = await store.read.launches.find(launchId);
  if (launch === null) throw new Error(`launch ${launchId} is not in the store`);
  const stage = await store.read.stages.find(launch.stageId);
  // A living process is of this boot.
  const isOfEarlierBoot = open === openSpoolOnly && isOfAnotherBoot(process.identity, await platform.bootId());
  const worktree = stage?.worktree?.path ?? null;
  const place = {
    isOfEarlierBoot,
    worktree,
    readServer: async (server: { conversationId: string; name: string }) =>
      worktree === null ? null : mcpText(env, { worktree, ...server }),
    mayHooksAllow: launch.settings.runsRepositoryHooks || (await mayUserHooksAllow(env)),
    readConversation: (conversationId: string) => conversationTail(env, conversationId),
    readHooks: (conversationId: string) => hooksInConversation(env, conversationId),
  };
  const executor = createSessionExecutor({ launch, process, channel: openOrRead(open, launch, process), place }, deps);
  const findMessages = (conversationId: string, messageIds: readonly string[]) =>
    messagesInConversation(env, conversationId, messageIds);
  const sizeOfConversation = (conversationId: string) => conversationBytes(env, conversationId);
  const wasWatched = open === openStdioChannel;
  const [onEnded, onGone] = [() => deps.onEnded(launch), () => deps.onGone(launch)];
  return watchLaunch(executor, {
    store,
    log,
    graces,
    wasWatched,
    isOfEarlierBoot,
    findMessages,
    sizeOfConversation,
    onEnded,
    onSurvivors: deps.onSurvivors,
    onGone,
  });
}

const isOfAnotherBoot = ({ bootId }: ProcessIdentity, now: string | null): boolean => now !== null && bootId !== now;

/** If the process ended before its input could be opened, its output is still read and its end settled. */
function openOrRead(
  open: typeof openStdioChannel,
  { folder, spoolOffset }: LaunchRecord,
  process: AgentProcess,
): Channel {
  try {
    return open(folder, spoolOffset, process.identity.pid);
  } catch (error) {
    if (error instanceof AppError && error.code === 'process_gone') return openSpoolOnly(folder, spoolOffset);
    throw error;
  }
}
