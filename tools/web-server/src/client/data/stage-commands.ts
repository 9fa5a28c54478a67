import {
  CONTINUE_MESSAGE,
  type CommandInput,
  type CommandReply,
  type FinishWay,
  type MessageBody,
  MessageId,
  type RequestId,
  type SendMessageReply,
  type StageId,
  type StageView,
} from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { createStore } from 'zustand/vanilla';
import { client } from '../lib/api-client.ts';
import { deletedText } from '../lib/removal-text.ts';
import { untilDelivered } from '../lib/until-delivered.ts';
import { useCommand } from './use-command.tsx';

// Commands on a whole stage. Its card and its page share them.

interface SentCommands {
  /** Starts that have no answer yet, by stage. */
  starts: ReadonlyMap<StageId, Promise<CommandReply<'start_stage'>>>;
  /** By stage: the last "continue" message, and the end of the turn it was sent for. */
  continues: ReadonlyMap<StageId, { after: string; messageId: MessageId }>;
}

/** What this tab has sent, so that a second click does not do it twice. */
const sentCommands = createStore<SentCommands>(() => ({ starts: new Map(), continues: new Map() }));

const without = <V>(map: ReadonlyMap<StageId, V>, stageId: StageId): ReadonlyMap<StageId, V> =>
  new Map([...map].filter(([key]) => key !== stageId));

/** Starts a stage. A second call before the first is answered (a double click) shares that answer. */
export function startStage(stageId: StageId): Promise<CommandReply<'start_stage'>> {
  const pending = sentCommands.getState().starts.get(stageId);
  if (pending !== undefined) return pending;
  const answer = client
    .command('start_stage', { stageId })
    .finally(() => sentCommands.setState(({ starts }) => ({ starts: without(starts, stageId) })));
  sentCommands.setState(({ starts }) => ({ starts: new Map(starts).set(stageId, answer) }));
  return answer;
}

const itself = (stageId: StageId): StageId => stageId;

/** Starts the next phase of the stage's pipeline. */
export const advanceStage = (stageId: StageId) => client.command('advance_stage', { stageId });

export const useAdvanceStage = (title: string) =>
  useCommand({ run: advanceStage, failed: `The next phase of ${title} did not begin`, stageId: itself });

/** Accepts the work of a stage although its check did not pass. */
export const useAcceptAnyway = (title: string) =>
  useCommand({ run: advanceStage, failed: `The work of ${title} was not accepted`, stageId: itself });

/** Runs the check of the stage's current phase again. */
export const useRunCheck = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('run_check', { stageId }),
    failed: `The check of ${title} was not run`,
    stageId: itself,
  });

/** Sends the failure of the newest check to Claude once more. */
export const useSendCheck = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('send_check', { stageId }),
    failed: `The failure in ${title} was not sent`,
    stageId: itself,
  });

export const useStartStage = (title: string) =>
  useCommand({ run: startStage, failed: `${title} was not started`, stageId: itself });

export const useStopStage = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('stop_stage', { stageId }),
    failed: `${title} was not stopped`,
    stageId: itself,
  });

/** Acknowledges what raised the alarm: the session may continue. */
export const useAcknowledgeAlarm = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('acknowledge_alarm', { stageId }),
    failed: `The alarm of ${title} was not acknowledged`,
    stageId: itself,
  });

/** Acknowledges that Claude Code denied the last call: the stage moves to Review. */
export const useAcknowledgeDenial = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('acknowledge_denial', { stageId }),
    failed: `The denial in ${title} still waits to be seen`,
    stageId: itself,
  });

/** Sets the stage's own sandbox switch from its next start on; null follows the project. */
export const useSetSandbox = (title: string) =>
  useCommand({
    run: ({ stageId, sandbox }: { stageId: StageId; sandbox: boolean | null }) =>
      client.command('update_stage', { stageId, patch: { sandbox } }),
    failed: `The sandbox of ${title} was not changed`,
    stageId: ({ stageId }) => stageId,
  });

/** Sets how the stage is finished; null follows the project. */
export const useSetFinish = (title: string) =>
  useCommand({
    run: ({ stageId, finish }: { stageId: StageId; finish: FinishWay | null }) =>
      client.command('update_stage', { stageId, patch: { finish } }),
    failed: `The end of ${title} was not changed`,
    stageId: ({ stageId }) => stageId,
  });

/** Sets whether the stage goes on by itself when a usage limit resets; null follows the board. */
export const useSetResumes = (title: string) =>
  useCommand({
    run: ({ stageId, goesOnAtReset }: { stageId: StageId; goesOnAtReset: boolean | null }) =>
      client.command('update_stage', { stageId, patch: { goesOnAtReset } }),
    failed: `What ${title} does at a usage limit was not changed`,
    stageId: ({ stageId }) => stageId,
  });

/** Moves a done stage back to Review. */
export const reopenStage = (stageId: StageId) => client.command('reopen_stage', { stageId });

export const useReopenStage = (title: string) =>
  useCommand({ run: reopenStage, failed: `${title} was not reopened`, stageId: itself });

/** Deletes a stage, and shows what was kept and what could not be removed. */
export const useDeleteStage = (title: string, done: () => void) =>
  useCommand({
    run: (removal: CommandInput<'remove_stage'>) => client.command('remove_stage', removal),
    failed: `${title} was not deleted`,
    stageId: ({ stageId }) => stageId,
    done: (reply) => {
      const text = deletedText(reply);
      const hasMore = reply.left !== null || (reply.running ?? []).length > 0;
      const autoClose = hasMore ? false : 8_000;
      if (text !== null) notifications.show({ title: `${title} was deleted`, message: text, color: 'gray', autoClose });
      done();
    },
  });

/** Takes the last completion back. */
export const useUndoCompletion = (title: string) =>
  useCommand({
    run: (stageId: StageId) => client.command('undo_completion', { stageId }),
    failed: `The completion of ${title} was not undone`,
    stageId: itself,
  });

/** What a person saw of a worktree that is not on the stage's branch. */
type SeenBranch = CommandInput<'take_branch'>;

/** Makes the branch that the worktree is on the stage's branch. */
export const useTakeBranch = (title: string) =>
  useCommand({
    run: (order: SeenBranch) => client.command('take_branch', order),
    failed: `The branch of ${title} was not changed`,
    stageId: ({ stageId }) => stageId,
  });

/** Sets the worktree back to the stage's branch. */
export const useReturnToBranch = (title: string) =>
  useCommand({
    run: (order: SeenBranch) => client.command('go_back_to_branch', order),
    failed: `The worktree of ${title} did not go back to its branch`,
    stageId: ({ stageId }) => stageId,
  });

/** Makes the stage's worktree again; with `starts`, then starts Claude, who was kept from it. */
export const useRemakeWorktree = (title: string, starts: boolean) =>
  useCommand({
    run: async (stageId: StageId) => {
      const made = await client.command('remake_worktree', { stageId });
      return starts ? client.command('start_stage', { stageId }) : made;
    },
    failed: `The worktree of ${title} was not made again`,
    stageId: itself,
  });

/** Sends a message to a stage's session, and resends it while the reply is lost: its id makes that harmless. */
export const sendMessage = (
  stageId: StageId,
  body: MessageBody & Required<Pick<MessageBody, 'messageId'>>,
): Promise<SendMessageReply> =>
  untilDelivered((_attempt, signal) => client.command('send_message', { stageId, ...body }, { signal }));

interface Continue {
  stageId: StageId;
  /** The end of the turn to continue from. */
  after: string;
}

/** The id of the "continue" message: a second click for the same end of a turn sends the same message. */
function continueMessageId({ stageId, after }: Continue): MessageId {
  const last = sentCommands.getState().continues.get(stageId);
  if (last?.after === after) return last.messageId;
  const messageId = MessageId.parse(crypto.randomUUID());
  sentCommands.setState(({ continues }) => ({ continues: new Map(continues).set(stageId, { after, messageId }) }));
  return messageId;
}

/**
 * Continues a stage whose last turn did not end well, with one click. A second click, or a click after a lost reply, has
 * no further effect.
 *
 * @returns null if one click cannot continue the stage
 */
export function useContinueStage(stage: StageView): (ContinueAction & { run: () => void; isSending: boolean }) | null {
  const start = useStartStage(stage.title);
  const notify = useCommand({
    run: (one: Continue) =>
      sendMessage(one.stageId, { message: CONTINUE_MESSAGE, messageId: continueMessageId(one), mode: 'append' }),
    failed: `${stage.title} was not told to continue`,
    stageId: ({ stageId }) => stageId,
    // A queued message can be removed from the queue, and then be wanted again.
    done: ({ status }, { stageId }) => {
      if (status === 'queued') sentCommands.setState(({ continues }) => ({ continues: without(continues, stageId) }));
    },
  });
  const action = continueAction(stage);
  if (action === null) return null;
  const after = stage.session?.lastTurn?.at ?? '';
  if (action.by === 'start') return { ...action, run: () => start.mutate(stage.id), isSending: start.isPending };
  // Until the turn it begins shows up here.
  const wasReported = notify.isSuccess && notify.data.status !== 'queued' && notify.variables.after === after;
  return {
    ...action,
    run: () => notify.mutate({ stageId: stage.id, after }),
    isSending: notify.isPending || wasReported,
  };
}

/** One click that continues a stage that stopped before it finished. */
export interface ContinueAction {
  /** `start` starts a process; `message` writes to the running one. */
  by: 'start' | 'message';
  label: 'Start again' | 'Continue';
  /** What the click does, to follow the label. */
  does: string;
}

/**
 * How to continue a stage whose last turn failed or was interrupted. Null if there is nothing to continue, under alarm, in a terminal,
 * or if queued messages should be released instead.
 */
export function continueAction({ session, completedAt, adopted }: StageView): ContinueAction | null {
  if (session === null || completedAt !== null || session.lastTurn?.outcome === 'succeeded') return null;
  if (session.alarm !== null || session.terminal !== null) return null;
  // A conversation from a terminal goes on with the next message.
  if (adopted !== null && session.lastTurn === null && session.state === 'ended' && session.queued === 0) return null;
  switch (session.state) {
    case 'idle':
      if (session.lastTurn === null || session.queued > 0) return null;
      return { by: 'message', label: 'Continue', does: `tells Claude “${CONTINUE_MESSAGE}”` };
    case 'ended':
    case 'failed':
      return {
        by: 'start',
        label: session.sessionId === null ? 'Start again' : 'Continue',
        does: `starts Claude’s process${excerpt(session)}`,
      };
    case 'starting':
    case 'busy':
    case 'waiting':
      return null;
    default:
      return session.state satisfies never;
  }
}

/** The first message of a restarted process. */
function excerpt({ queued, lastTurn }: NonNullable<StageView['session']>): string {
  if (queued > 0) return ', with the first message that waits';
  return lastTurn === null ? '' : ` and tells it “${CONTINUE_MESSAGE}”`;
}

/** A call that Claude Code denied, by its entry in the decision log. */
export interface DeniedCall {
  stageId: StageId;
  requestId: RequestId;
}

const RETRY_KEY = 'denial-retry';

/** Whether a denied call can be allowed after all. It depends on settings and rules, which change without an event, so it is asked at each look. */
export const denialRetryQuery = ({ stageId, requestId }: DeniedCall) =>
  queryOptions({
    queryKey: [RETRY_KEY, stageId, requestId],
    refetchOnMount: 'always',
    queryFn: ({ signal }) => client.command('get_denial_retry', { stageId, requestId }, { signal }),
  });

/** Asks again whether the denied calls of a stage that are on screen can be allowed. */
export const refreshDenialRetries = (cache: QueryClient, stageId: StageId): void =>
  void cache.invalidateQueries({ queryKey: [RETRY_KEY, stageId] });

/** Allows a denied call, exactly and for an hour, and has Claude make it again. A second press changes nothing. */
export const useRetryDenial = (title: string) =>
  useCommand({
    run: (denied: DeniedCall) => client.command('retry_denial', denied),
    failed: `The denied call of ${title} was not allowed`,
    stageId: ({ stageId }) => stageId,
  });
