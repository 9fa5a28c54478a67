import { create } from 'zustand';
import { persist } from 'zustand/middleware';

interface MessageDrafts {
  /** The text in each stage's message box that is not sent yet. */
  byStage: Readonly<Record<string, string>>;
  set(stageId: string, text: string): void;
  /** Once the server has it; what was typed meanwhile stays. */
  sent(stageId: string, text: string): void;
}

const without = (byStage: Readonly<Record<string, string>>, stageId: string) => {
  const { [stageId]: _, ...rest } = byStage;
  return rest;
};

export const useMessageDrafts = create<MessageDrafts>()(
  persist(
    (set) => ({
      byStage: {},
      set: (stageId, text) =>
        set(({ byStage }) => ({
          byStage: text === '' ? without(byStage, stageId) : { ...byStage, [stageId]: text },
        })),
      sent: (stageId, text) =>
        set(({ byStage }) => (byStage[stageId] === text ? { byStage: without(byStage, stageId) } : {})),
    }),
    { name: 'callboard-message-drafts' },
  ),
);
