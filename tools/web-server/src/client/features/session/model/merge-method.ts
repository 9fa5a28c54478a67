import { MergeMethod, type ProjectId } from '@callboard/contract';
import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../../../lib/browser-storage.ts';

const KEY = 'callboard-merge-methods';

const Kept = z.record(z.string(), MergeMethod);

interface MergeMethods {
  /** By project. */
  methods: z.infer<typeof Kept>;
  choose(projectId: ProjectId, method: MergeMethod): void;
}

const useMergeMethods = create<MergeMethods>((set, get) => ({
  methods: readStored(KEY, Kept, {}),
  choose: (projectId, method) => {
    const methods = { ...get().methods, [projectId]: method };
    set({ methods });
    writeStored(KEY, methods);
  },
}));

/** How a project's stages are merged: as this browser chose last; with a merge commit if it never did. */
export function useMergeMethod(projectId: ProjectId): [MergeMethod, (method: MergeMethod) => void] {
  const method = useMergeMethods(({ methods }) => methods[projectId]) ?? 'merge';
  const choose = useMergeMethods((state) => state.choose);
  return [method, (chosen) => choose(projectId, chosen)];
}
