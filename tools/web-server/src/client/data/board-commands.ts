import {
  type Column,
  type CommandInput,
  checkAtGate,
  type NewProject,
  type Project,
  type ProjectId,
  type ProjectPatch,
  type StageId,
  type StagePatch,
  type StageView,
} from '@callboard/contract';
import { notifications } from '@mantine/notifications';
import { queryOptions } from '@tanstack/react-query';
import { client } from '../lib/api-client.ts';
import { UPLOAD_MS, untilDelivered } from '../lib/until-delivered.ts';
import { useBoardUi } from './board-ui.ts';
import { completeDialog } from './dialogs.ts';
import { advanceStage, reopenStage, startStage } from './stage-commands.ts';
import { useCommand } from './use-command.tsx';

// If a command has no `failed` text, its form shows the refusal.

/** Resends it while the reply is lost: its creation id makes that harmless. */
export const useCreateStage = () =>
  useCommand({
    run: (stage: CommandInput<'create_stage'> & { creationId: string }) =>
      untilDelivered(
        (_attempt, signal) => client.command('create_stage', stage, { signal }),
        stage.attachments === undefined ? {} : { attemptMs: UPLOAD_MS },
      ),
  });

export const useEditStage = () =>
  useCommand({ run: (change: { stageId: StageId; patch: StagePatch }) => client.command('update_stage', change) });

export const useAddProject = (done: (project: Project) => void) =>
  useCommand({
    run: (project: NewProject) => client.command('create_project', project),
    done: ({ project }) => done(project),
  });

export const useEditProject = (projectId: ProjectId, done: () => void) =>
  useCommand({
    run: (patch: ProjectPatch) => client.command('update_project', { projectId, ...patch }),
    done,
  });

/** Turns the sandbox of projects on or off. If one fails, those before it stay changed. */
export const useSettleSandbox = (names: string) =>
  useCommand({
    run: async ({ projectIds, sandbox }: { projectIds: readonly ProjectId[]; sandbox: boolean }) => {
      for (const projectId of projectIds) await client.command('update_project', { projectId, settings: { sandbox } });
    },
    failed: `The sandbox of ${names} was not settled`,
  });

/** Agrees to exactly the git settings that have this hash. */
export const useAgreeGitSettings = (projectId: ProjectId) =>
  useCommand({
    run: (hash: string) => client.command('agree_git_settings', { projectId, hash }),
  });

export const useRemoveProject = (name: string, done: () => void) =>
  useCommand({
    run: (projectId: ProjectId) => client.command('remove_project', { projectId }),
    failed: `${name} was not removed`,
    done,
  });

export const useImportStages = (projectId: ProjectId) =>
  useCommand({
    run: (order: { path: string; watch: boolean }) => client.command('import_stages', { projectId, ...order }),
  });

export const useExportStages = (projectId: ProjectId) =>
  useCommand({
    run: (path: string) => client.command('export_stages', { projectId, path }),
  });

export const useStartNew = () =>
  useCommand({
    run: (stage: StageView) => startStage(stage.id),
    failed: (stage) => `${stage.title} was created, but not started`,
    stageId: ({ id }) => id,
  });

type DropCommand = Extract<Drop, { kind: 'command' }>['verb'];

const DROPS: Record<DropCommand, { run: (stageId: StageId) => Promise<unknown>; sending: string; failed: string }> = {
  start: { run: startStage, sending: 'is being started', failed: 'was not started' },
  advance: { run: advanceStage, sending: 'its next phase is being started', failed: 'did not start its next phase' },
  // The dialog asks what becomes of its work; the card stays in place until it is done.
  complete: { run: async (stageId) => completeDialog.open(stageId), sending: '', failed: 'was not completed' },
  reopen: { run: reopenStage, sending: 'is being reopened', failed: 'was not reopened' },
};

interface Dropped {
  stage: StageView;
  verb: DropCommand;
}

/** Runs the command of a drop. Until it is answered, the card says so and stays in place. */
export function useDropCommand() {
  const { setSending } = useBoardUi.getState();
  return useCommand({
    run: async ({ stage, verb }: Dropped) => {
      setSending(stage.id, DROPS[verb].sending);
      try {
        return await DROPS[verb].run(stage.id);
      } finally {
        setSending(stage.id, null);
      }
    },
    failed: ({ stage, verb }) => `${stage.title} ${DROPS[verb].failed}`,
    stageId: ({ stage }) => stage.id,
  });
}

export const showRefusedDrop = (text: string): void => {
  notifications.show({ title: 'Nothing was changed', message: text, color: 'gray', autoClose: 8_000 });
};

/** The editors on the machine of the orchestrator. */
export const editorsQuery = queryOptions({
  queryKey: ['editors'],
  queryFn: async ({ signal }) => (await client.command('get_editors', {}, { signal })).editors,
  staleTime: 60_000,
});

/** The effect of dropping a card on a column. */
export type Drop =
  | { kind: 'command'; verb: 'start' | 'advance' | 'complete' | 'reopen'; text: string }
  | { kind: 'refused'; text: string }
  /** The card goes back to its place. */
  | { kind: 'nothing' };

const REFUSED: Record<Exclude<Column, 'running' | 'done'>, string> = {
  backlog: 'A stage is in the backlog while it is on hold or waits for another one. Edit it to put it on hold.',
  ready: 'A stage becomes ready once it is not on hold and its dependencies are done.',
  'needs-you': 'A stage moves here when Claude needs you.',
  review: 'A stage moves here when Claude has finished.',
};

/** A stage's column is derived from its state, so a drop is a command, or is refused with a reason. */
export function dropOn(stage: StageView, column: Column): Drop {
  if (stage.column === column) return { kind: 'nothing' };
  if (column === 'done') return { kind: 'command', verb: 'complete', text: 'Drop to finish it' };
  if (column === 'review' && stage.completedAt !== null)
    return { kind: 'command', verb: 'reopen', text: 'Drop to reopen it' };
  if (column !== 'running') return { kind: 'refused', text: REFUSED[column] };
  if (stage.completedAt !== null) return { kind: 'refused', text: 'It is done. Reopen it, or send it a message.' };
  if (stage.session === null) return { kind: 'command', verb: 'start', text: 'Drop to start it' };
  if (checkAtGate(stage) !== null)
    return {
      kind: 'refused',
      text: 'Its check did not pass. Choose what follows on its page, or send Claude a message.',
    };
  if (stage.session.atGate) return { kind: 'command', verb: 'advance', text: 'Drop to start its next phase' };
  return {
    kind: 'refused',
    text: 'It was started before. Answer its request, choose Continue in its menu, or send it a message.',
  };
}
