import { type CommandInput, isOnHold, type StageView } from '@callboard/contract';
import { useQuery } from '@tanstack/react-query';
import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';
import { client } from '../lib/api-client.ts';
import { boardQuery } from './queries.ts';
import { useCommand } from './use-command.tsx';

const holdsDialog = createStore(() => ({ isOpen: false }));

/** Shows what is on hold, and lets a person hold or release projects and everything. */
export const openHoldsDialog = (): void => holdsDialog.setState({ isOpen: true });

export const closeHoldsDialog = (): void => holdsDialog.setState({ isOpen: false });

export const useHoldsDialog = (): boolean => useStore(holdsDialog, ({ isOpen }) => isOpen);

/** Puts stages, a project or everything on hold, or releases them. */
export const putHold = (order: CommandInput<'put_hold'>) => client.command('put_hold', order);

/** @param what what it is about, as the subject of a sentence */
export const usePutHold = (what: string, done?: () => void) =>
  useCommand({
    run: putHold,
    failed: ({ held }) => (held ? `${what}: not put on hold` : `${what}: not released`),
    ...(done && { done }),
  });

/** Whether the stage itself, its project or everything is on hold. */
export function useIsOnHold(stage: Pick<StageView, 'id' | 'projectId' | 'held'>): boolean {
  const { data = false } = useQuery({ ...boardQuery, select: (view) => isOnHold(stage, view.holds) });
  return data;
}
