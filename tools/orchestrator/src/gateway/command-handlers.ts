import {
  type Actor,
  type BoardEvent,
  type BoardView,
  boardCounts,
  boardView,
  type CommandInput,
  type CommandReply,
  type CommandType,
  type DiffQuery,
  isActive,
  type LoopDelay,
  type ProjectId,
  type Removal,
  type SessionView,
  type StageDiff,
  type StageId,
  type StageView,
  type TranscriptEntry,
  type Worktree,
} from '@callboard/contract';
import type { ApprovalService } from '../approvals/approval-service.ts';
import type { LostAnswers } from '../approvals/settle-answers.ts';
import type { Authenticated, Logins } from '../auth/logins.ts';
import { noSession } from '../domain/change-session.ts';
import { queuedMessage } from '../domain/message-delivery.ts';
import { Rejection } from '../lib/errors.ts';
import type { DraftFiles } from '../messages/draft-files.ts';
import type { Drafts } from '../messages/drafts.ts';
import type { MessageQueue } from '../messages/message-queue.ts';
import type { LeftoverProcesses } from '../sessions/launch/leftover-processes.ts';
import type { SessionControls } from '../sessions/session-controls.ts';
import type { Sessions } from '../sessions/sessions.ts';
import type { ProjectGitSettings } from '../stages/git-settings.ts';
import type { StageImports } from '../stages/import-stages.ts';
import type { Projects } from '../stages/projects.ts';
import type { Stages } from '../stages/stages.ts';
import { summaryOf } from '../store/records.ts';
import type { Store } from '../store/store.ts';
import type { Trash } from '../trash/trash.ts';
import type { Trust } from '../trust/trust.ts';
import type { Worktrees } from '../worktrees/worktrees.ts';
import { controlHandlers } from './control-handlers.ts';

export interface HandlerParts {
  store: Store;
  /** All that the board shows, as it is now. */
  board: () => Promise<BoardView>;
  loopDelay: () => LoopDelay;
  projects: Projects;
  gitSettings: ProjectGitSettings;
  stages: Stages;
  sessions: Sessions;
  leftovers: LeftoverProcesses;
  controls: SessionControls;
  approvals: ApprovalService;
  lostAnswers: LostAnswers;
  messages: MessageQueue;
  drafts: Drafts;
  draftFiles: DraftFiles;
  /** What Claude Code offers a stage. */
  capabilities: (of: CommandInput<'get_capabilities'>) => Promise<CommandReply<'get_capabilities'>>;
  imports: StageImports;
  worktrees: Worktrees;
  trash: Trash;
  trust: Trust;
  logins: Logins;
}

/** Who gave the command, and over which connection. */
export interface CommandContext {
  actor: Actor;
  /** The credential that it came with, once that was found good; null where it came with none. */
  login: Authenticated | null;
  /** From now on the connection gets the text deltas of exactly these stages. */
  watch(stageIds: readonly StageId[]): void;
}

/** What each command does. Rejections are for whoever gave it. */
export type CommandHandlers = {
  [T in CommandType]: (input: CommandInput<T>, context: CommandContext) => Promise<CommandReply<T>>;
};

const EVENTS_PAGE = 500;
const TRANSCRIPT_PAGE = 200;
const DECISIONS_PAGE = 200;
const NO_WORKTREE: Removal = {
  worktree: null,
  left: null,
  files: [],
  fileCount: 0,
  bytes: 0,
  buildFolders: [],
  branch: null,
};

export function commandHandlers(parts: HandlerParts): CommandHandlers {
  const { store, board, loopDelay, projects, gitSettings, stages, sessions, leftovers, approvals, lostAnswers } = parts;
  const { messages, drafts, draftFiles, capabilities, imports, worktrees, trash, trust, logins } = parts;

  async function viewOf(stageId: StageId): Promise<{ stage: StageView }> {
    const stage = boardView(await store.boardOf(stageId)).stages.find((candidate) => candidate.id === stageId);
    if (stage === undefined) throw new Rejection('unknown_stage', `There is no stage ${stageId}.`);
    return { stage };
  }

  async function sessionOf(stageId: StageId): Promise<{ session: SessionView }> {
    const record = await store.read.sessions.find(stageId);
    if (record === null) throw await noSession(store.read, stageId);
    const queue = (await store.read.outbox.queueOf(stageId)).map(queuedMessage);
    return { session: { ...summaryOf(record), queue, pending: await store.read.requests.listOpenOf(stageId) } };
  }

  const isStage = async (stageId: StageId) => (await store.read.stages.find(stageId)) !== null;

  /** A decision's entry is written when it is made; how far its delivery got since is looked up. */
  async function withCurrentDecision(entry: TranscriptEntry): Promise<TranscriptEntry> {
    if (entry.kind !== 'decision') return entry;
    const now = await store.read.requests.findDecision(entry.stageId, entry.decision.requestId);
    return { ...entry, decision: now ?? entry.decision };
  }

  async function eventsSince(since: number, limit: number): Promise<{ events: BoardEvent[]; resync: boolean }> {
    const last = await store.read.events.lastSeq();
    const events = await store.read.events.since(since, limit);
    // Numbers have no gaps: the next one is there, or was pruned, be it only just now. Nothing comes after the newest.
    const isWhole = events[0] === undefined ? since === last : events[0].seq === since + 1;
    return isWhole ? { events, resync: false } : { events: [], resync: true };
  }

  async function removalOf(stageId: StageId): Promise<CommandReply<'get_removal'>> {
    const stage = await store.read.stages.find(stageId);
    if (stage === null) throw unknownStage(stageId);
    const project = await store.read.projects.find(stage.projectId);
    if (stage.worktree === null || project === null) return { removal: NO_WORKTREE };
    return { removal: await worktrees.planRemoval(project, stage.worktree) };
  }

  /** The worktree goes first: whatever ends this in between, the stage is there to be deleted again. */
  async function removeStage(
    { stageId, buildFolders = 'keep' }: CommandInput<'remove_stage'>,
    by: string,
  ): Promise<CommandReply<'remove_stage'>> {
    const stage = await stages.requireRemovable(stageId);
    const project = await store.read.projects.find(stage.projectId);
    const { worktree } = stage;
    const mayBegin = async () => void (await stages.requireRemovable(stageId));
    const removed =
      worktree === null || project === null
        ? { left: null, kept: null, deleted: [] }
        : await worktrees.remove(project, worktree, {
            buildFolders,
            mayBegin,
            keep: (files) => trash.keep(worktree.path, files, { project, stage, by }),
          });
    return { stage: await stages.remove(stageId), ...removed };
  }

  async function completeStage({ stageId, merge = false, ...seen }: CommandInput<'complete_stage'>): Promise<void> {
    const stage = await store.read.stages.find(stageId);
    const project = stage === null ? null : await store.read.projects.find(stage.projectId);
    const session = await store.read.sessions.find(stageId);
    const toMerge = merge && stage?.completedAt === null && stage.worktree !== null ? stage.worktree : null;
    const works = session !== null && isActive(session.state);
    // Before its process is ended, which a refusal would not take back.
    if (toMerge !== null && project !== null && !works) await worktrees.requireMergeable(project, toMerge, seen);
    if (stage !== null && stage.completedAt === null && project !== null && session?.state === 'idle') {
      if (!(await sessions.endIfIdle(stageId, 'Ended, since its stage was completed.'))) {
        const message = `${stageId} was given work at the same moment, so it is not completed. Wait for its end, or stop it first.`;
        throw new Rejection('stage_running', message);
      }
    }
    // Before the merge: a refusal behind it would look as if nothing had been done.
    await stages.requireCompletable(stageId);
    if (toMerge !== null && project !== null) {
      await store.sync(); // the work that is merged must not outlast what is known of it
      await worktrees.merge(project, toMerge, seen);
    }
    await stages.complete(stageId);
  }

  async function worktreeOf(stageId: StageId): Promise<Worktree> {
    const stage = await store.read.stages.find(stageId);
    if (stage === null) throw unknownStage(stageId);
    if (stage.worktree === null)
      throw new Rejection('no_session', `${stageId} has no worktree yet: it was never started.`);
    return stage.worktree;
  }

  async function diffOf(stageId: StageId, query: DiffQuery): Promise<StageDiff> {
    const worktree = await worktreeOf(stageId);
    const stage = await store.read.stages.find(stageId);
    const project = stage === null ? null : await store.read.projects.find(stage.projectId);
    if (project === null) throw unknownStage(stageId);
    return worktrees.diff(project, worktree, query);
  }

  async function rulesOf(projectId: ProjectId): Promise<CommandReply<'get_rules'>> {
    if ((await store.read.projects.find(projectId)) === null)
      throw new Rejection('unknown_project', `There is no project ${projectId}.`);
    return { rules: await store.read.rules.listOf(projectId) };
  }

  return {
    get_board: board,
    get_counts: async () => ({ counts: boardCounts(await board()), loopDelay: loopDelay() }),
    get_events: ({ since, limit }) => eventsSince(since, limit ?? EVENTS_PAGE),
    watch: async ({ stageIds }, { watch }) => {
      watch(stageIds);
      return {};
    },

    create_project: async (input) => {
      const { project, created } = await projects.register(input);
      return { project: await trust.refresh(project.id), created };
    },
    update_project: async ({ projectId, ...patch }) => ({ project: await projects.update(projectId, patch) }),
    agree_git_settings: async ({ projectId, hash }) => ({ project: await gitSettings.agree(projectId, hash) }),
    remove_project: async ({ projectId }) => ({ project: await projects.remove(projectId) }),
    get_projects: async () => {
      await trust.refreshAll();
      return { projects: await store.read.projects.list() };
    },
    get_trust: async ({ projectId, stageId }) => ({
      trust:
        stageId === undefined ? (await trust.refresh(projectId)).trust : await trust.inspectStage(projectId, stageId),
    }),
    trust_project: async ({ projectId, hash }, { actor }) => ({
      project: await trust.agree(projectId, hash, actor.name),
    }),
    agree_rules: async ({ projectId, rules }) => ({ project: await trust.agreeToRules(projectId, rules) }),
    import_stages: async ({ projectId, path }) => {
      const { ids, ...done } = await imports.run(projectId, path);
      const views = new Map((await board()).stages.map((stage) => [stage.id, stage]));
      return { stages: ids.flatMap((id) => views.get(id) ?? []), ...done };
    },
    get_rules: ({ projectId }) => rulesOf(projectId),
    remove_rule: async ({ ruleId }) => ({ rule: await approvals.revoke(ruleId) }),

    create_stage: async (input) => viewOf((await stages.create(input)).id),
    get_stage: ({ stageId }) => viewOf(stageId),
    update_stage: async ({ stageId, patch }) => {
      await stages.update(stageId, patch);
      return viewOf(stageId);
    },
    get_removal: ({ stageId }) => removalOf(stageId),
    remove_stage: (input, { actor }) => removeStage(input, actor.name),
    get_trash: async () => ({ entries: await trash.list() }),
    restore_trash: ({ trashId, folder }) => trash.restore(trashId, folder),
    get_diff: async ({ stageId, ...query }) => ({ diff: await diffOf(stageId, query) }),
    suggest_files: async ({ stageId, query = '' }) => ({
      files: await worktrees.suggestFiles(await worktreeOf(stageId), query),
    }),
    start_stage: async ({ stageId }, { actor }) => {
      await sessions.start(stageId, actor.name);
      return viewOf(stageId);
    },
    advance_stage: async ({ stageId }) => {
      if (!(await isStage(stageId))) throw unknownStage(stageId);
      await sessions.advance(stageId);
      return viewOf(stageId);
    },
    stop_stage: async ({ stageId }, { actor }) => {
      if (!(await isStage(stageId))) throw unknownStage(stageId);
      await sessions.stop(stageId, `Stopped by ${actor.name}.`);
      return viewOf(stageId);
    },
    reopen_stage: async ({ stageId }, { actor }) => {
      await stages.reopen(stageId, actor.name);
      return viewOf(stageId);
    },
    complete_stage: async (input) => {
      await completeStage(input);
      return viewOf(input.stageId);
    },

    get_capabilities: (wanted) => capabilities(wanted),
    get_session: ({ stageId }) => sessionOf(stageId),
    get_transcript: async ({ stageId, after, before, limit }) => {
      if (!(await isStage(stageId))) throw unknownStage(stageId);
      const page = await store.read.transcript.page(stageId, { after, before, limit: limit ?? TRANSCRIPT_PAGE });
      const entries = await Promise.all(page.map(withCurrentDecision));
      return { entries, total: (await store.read.sessions.find(stageId))?.transcriptLength ?? 0 };
    },
    get_live_text: async ({ stageId }) => {
      if (!(await isStage(stageId))) throw unknownStage(stageId);
      return { blocks: sessions.liveText(stageId) };
    },
    get_pending: async ({ stageId }) => {
      if (stageId === undefined) return { pending: await store.read.requests.listOpen() };
      if (!(await isStage(stageId))) throw unknownStage(stageId);
      return { pending: await store.read.requests.listOpenOf(stageId) };
    },
    get_decisions: ({ limit, ...filter }) =>
      store.read.requests.decisions({ ...filter, limit: limit ?? DECISIONS_PAGE }),

    get_drafts: async ({ stageId }) => ({ drafts: await drafts.list(stageId) }),
    put_draft: async (draft) => ({ draft: await drafts.put(draft) }),

    add_draft_file: async ({ stageId, fileId, file }) => ({ file: await draftFiles.add(stageId, fileId, file) }),
    get_draft_file: async ({ stageId, fileId }) => ({ file: await draftFiles.get(stageId, fileId) }),
    remove_draft_file: async ({ stageId, fileId }) => ({ file: await draftFiles.remove(stageId, fileId) }),

    send_message: ({ stageId, ...body }, { actor }) => messages.send(stageId, body, actor.name),
    get_queue: async ({ stageId }) => {
      const { session } = await sessionOf(stageId);
      return { queue: session.queue, held: session.queueHeld };
    },
    edit_queued: async ({ stageId, messageId, patch }) => ({ message: await messages.edit(stageId, messageId, patch) }),
    release_queue: async ({ stageId }, { actor }) => {
      await messages.release(stageId, actor.name);
      return sessionOf(stageId);
    },
    send_queued: ({ stageId, messageId, mode }, { actor }) => messages.sendQueued(stageId, messageId, mode, actor.name),
    remove_queued: async ({ stageId, messageId }) => ({ message: await messages.remove(stageId, messageId) }),

    approve_tool: async ({ stageId, ...body }, { actor }) => ({
      decision: await approvals.approve(stageId, body, actor.name),
    }),
    answer_question: async ({ stageId, ...body }, { actor }) => ({
      decision: await approvals.answer(stageId, body, actor.name),
    }),
    dismiss_decision: async ({ stageId, requestId }, { actor }) => ({
      decision: await lostAnswers.dismiss(stageId, requestId, actor.name),
    }),
    retry_decision: ({ stageId, requestId }, { actor }) => lostAnswers.retry(stageId, requestId, actor.name),
    interrupt: async ({ stageId }, { actor }) => {
      await sessions.interrupt(stageId, `Interrupted by ${actor.name}.`);
      return sessionOf(stageId);
    },
    acknowledge_alarm: async ({ stageId }, { actor }) => {
      await sessions.acknowledgeAlarm(stageId, actor.name);
      return sessionOf(stageId);
    },
    acknowledge_denial: async ({ stageId }, { actor }) => {
      await sessions.acknowledgeDenial(stageId, actor.name);
      return sessionOf(stageId);
    },
    get_leftovers: async ({ stageId }) => ({ processes: await leftovers.list(stageId) }),
    end_leftovers: async ({ stageId, pids }, { actor }) => ({
      processes: await leftovers.end(stageId, pids, actor.name),
    }),
    ...controlHandlers(parts.controls),
    set_mode: async ({ stageId, mode }) => {
      await sessions.setMode(stageId, mode);
      return sessionOf(stageId);
    },
    set_model: async ({ stageId, model, effort }) => {
      await sessions.setModel(stageId, { model, effort });
      return sessionOf(stageId);
    },

    get_logins: async (_, { login }) => ({ logins: await logins.list(), current: login?.loginId ?? null }),
    remove_login: async ({ loginId }, { actor }) => ({ login: await logins.end(loginId, actor.name) }),
    auth_redeem: (input) => logins.redeem(input),
    auth_prove: async (input, { login }) => {
      const { loginId } = requireLogin(login);
      if (loginId === null) throw new Rejection('bad_request', 'An API token has no page to prove.');
      await logins.prove(loginId, input);
      return { loginId };
    },
    auth_check: async (_, { login }) => requireLogin(login),
    auth_logout: async (_, { actor, login }) => {
      const { loginId } = requireLogin(login);
      if (loginId !== null) await logins.end(loginId, actor.name);
      return {};
    },
  };
}

function requireLogin(login: Authenticated | null): Authenticated {
  if (login === null) throw new Rejection('not_logged_in', 'This command came without a login.');
  return login;
}

const unknownStage = (stageId: StageId) => new Rejection('unknown_stage', `There is no stage ${stageId}.`);
