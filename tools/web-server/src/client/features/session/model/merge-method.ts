import { MergeMethod, type ProjectId, type StageId } from '@callboard/contract';
import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../../../lib/browser-storage.ts';

const KEY = 'callboard-merge-methods';

/** A way of finishing: one of merging here, or a pull request. */
export const FinishChoice = z.enum([...MergeMethod.options, 'pull-request']);
export type FinishChoice = z.infer<typeof FinishChoice>;

const Saved = z.record(z.string(), FinishChoice);

interface MergeMethods {
  /** By project. */
  methods: z.infer<typeof Saved>;
  /** By stage, for as long as the page lives: its pull request comes first until somebody chooses otherwise. */
  chosen: Readonly<Record<StageId, FinishChoice>>;
  choose(stage: FinishedStage, method: FinishChoice): void;
}

interface FinishedStage {
  id: StageId;
  projectId: ProjectId;
  /** Whether it has an open pull request. */
  isOpen: boolean;
}

/** What was chosen, kept by this browser. */
const useMergeMethods = create<MergeMethods>((set, get) => ({
  methods: readStored(KEY, Saved, {}),
  chosen: {},
  choose: ({ id, projectId }, method) => {
    const methods = { ...get().methods, [projectId]: method };
    set({ methods, chosen: { ...get().chosen, [id]: method } });
    writeStored(KEY, methods);
  },
}));

/**
 * How a stage is finished: as was chosen for it; by its pull request if that is open; as this browser chose last in the project;
 * with a merge commit if it never did.
 */
export function useFinishChoice(stage: FinishedStage): [FinishChoice, (choice: FinishChoice) => void] {
  const chosen = useMergeMethods((state) => state.chosen[stage.id]);
  const usual = useMergeMethods(({ methods }) => methods[stage.projectId]) ?? 'merge';
  const choose = useMergeMethods((state) => state.choose);
  return [chosen ?? (stage.isOpen ? 'pull-request' : usual), (choice) => choose(stage, choice)];
}
