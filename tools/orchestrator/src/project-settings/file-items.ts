import { commandsOf, type TrustItem, type WorkspaceFile } from '@callboard/contract';
import { FILE_NAME } from './parse-file.ts';

/** One thing that `callboard.yaml` switches on. */
export interface FileItem extends Omit<TrustItem, 'isNew'> {
  /** Nothing further that may name files: what a command runs is the work of the stages themselves. */
  commands: readonly [];
}

const item = (kind: TrustItem['kind'], text: string, value: string): FileItem => ({
  kind,
  text,
  value,
  file: FILE_NAME,
  commands: [],
});

/** Lists what a person has to agree to before anything of it is used. */
export function fileItems({ setup, cleanup, devServers, caches, pipelines, finish }: WorkspaceFile): FileItem[] {
  return [
    ...(setup ? [item('command', 'Sets up each new worktree, before Claude starts.', setup.command)] : []),
    ...(cleanup ? [item('command', 'Cleans up a worktree when its stage is done.', cleanup.command)] : []),
    ...Object.entries(devServers ?? {}).map(([name, { command }]) =>
      item('command', `The dev server “${name}”, which people start.`, command),
    ),
    ...Object.entries(pipelines ?? {}).flatMap(([pipeline, steps]) => [
      ...commandsOf(steps).map(({ name, command }) => item('command', `Checks “${name}” of “${pipeline}”.`, command)),
      ...finishItem(`Stages of “${pipeline}” finish by themselves when their last phase is over.`, steps.finish),
    ]),
    ...(caches ?? []).map((path) => item('directory', 'A folder that commands in the sandbox may write to.', path)),
    ...finishItem('Stages finish by themselves when their last phase is over.', finish),
  ];
}

const finishItem = (text: string, finish: WorkspaceFile['finish']): FileItem[] =>
  finish === undefined || finish === 'none' ? [] : [item('other', text, finish)];

/** Identifies an item in what a person agreed to. */
export const itemKey = ({ text, value }: Pick<FileItem, 'text' | 'value'>): string => `${text}\n${value}`;
