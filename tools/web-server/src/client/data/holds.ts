import { type CommandInput, isPaused, type StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';
import { client } from '../lib/api-client.ts';
import { boardQuery } from './queries.ts';
import { useCommand } from './use-command.tsx';

const pausesDialog = createStore(() => ({ isOpen: false }));

/** Shows what is on hold, and lets a person hold or release projects and everything. */
export const openPausesDialog = (): void => pausesDialog.setState({ isOpen: true });

export const closePausesDialog = (): void => pausesDialog.setState({ isOpen: false });

export const usePausesDialog = (): boolean => useStore(pausesDialog, ({ isOpen }) => isOpen);

/** Puts stages, a project or everything on hold, or releases them. */
export const putPause = (order: CommandInput<'put_hold'>) => client.command('put_hold', order);

/** @param what what it is about, as the subject of a sentence */
export const usePutPause = (what: string, done?: () => void) =>
  useCommand({
    run: putPause,
    failed: ({ held }) => (held ? `${what}: not put on hold` : `${what}: not released`),
    ...(done && { done }),
  });

/** Whether the stage itself, its project or everything is on hold. */
export function useIsPaused(stage: Pick<StageView, 'id' | 'projectId' | 'held'>): boolean {
  const { data = false } = useQuery({ ...boardQuery, select: (view) => isPaused(stage, view.holds) });
  return data;
}
