import type { Budget, MessageId, ProjectId, RuleOffer, StageId } from '@callboard/contract';
import { useStore } from 'zustand';
import { createStore } from 'zustand/vanilla';

/** A dialog that any page can open. `S`: what it is opened for, if that is not always the same. */
export interface DialogStore<S extends [subject?: unknown]> {
  open(...subject: S): void;
  close(): void;
  useIsOpen(): boolean;
  /** What the dialog is open for; null while it is closed. */
  useSubject(): S[0] | null;
  /** What the dialog is, or was last, open for: it stays while the dialog fades out. Null before the first time. */
  useLastSubject(): S[0] | null;
}

function createDialog<S extends [subject?: unknown] = []>(): DialogStore<S> {
  const store = createStore<{ isOpen: boolean; subject: S[0] | null }>(() => ({ isOpen: false, subject: null }));
  return {
    open: (...[subject]) => store.setState({ isOpen: true, subject }),
    close: () => store.setState({ isOpen: false }),
    useIsOpen: () => useStore(store, ({ isOpen }) => isOpen),
    useSubject: () => useStore(store, ({ isOpen, subject }) => (isOpen ? subject : null)),
    useLastSubject: () => useStore(store, ({ subject }) => subject),
  };
}

/** What is spent and how much may be: of one budget; null: of all stages, and of each project. */
export const budgetsDialog = createDialog<[scope?: Budget['scope']]>();

/**
 * Asks how a stage is to be completed, or a done stage merged: every way to completing a stage goes through this. The dialog says
 * what would be merged and what would be left.
 */
export const completeDialog = createDialog<[StageId]>();

/** Asks for another title of a stage. */
export const renameDialog = createDialog<[StageId]>();

/** Leaves the conversation of a stage to a terminal. */
export const terminalDialog = createDialog<[StageId]>();

/** How a stage is finished, in the bar below its changes: there is no dialog where they are shown. */
export const finishBar = createDialog<[StageId]>();

/** Asks before a stage is deleted: every way to deleting one goes through this. */
export const deleteDialog = createDialog<[StageId]>();

/** The account's usage limits, and what happens at one. */
export const limitsDialog = createDialog();

/** Shows what is on hold, and lets a person hold or release projects and everything. */
export const pausesDialog = createDialog();

/** What a person is about to do at a moment of a conversation. */
export interface MomentAction {
  kind: 'back' | 'fork';
  stageId: StageId;
  /** The message that the moment is before. */
  message: { id: MessageId; text: string };
}

/** Asks before a stage goes back to a message, or is forked there: every way to either goes through this. */
export const momentDialog = createDialog<[MomentAction]>();

/** The kept rules of a project. @param offer rules that are offered on top */
export const rulesDialog = createDialog<[{ projectId: ProjectId; offer?: RuleOffer }]>();

/** Whose settings are reviewed: a project's repository, or the worktree of one of its stages. */
export interface TrustLocation {
  projectId: ProjectId;
  stageId?: StageId | undefined;
}

/** Asks whether to trust a repository. */
export const trustDialog = createDialog<[TrustLocation]>();

/** Kills Callboard, to see it return. */
export const crashDialog = createDialog();

/** Finds and does everything. @param stage the one whose actions come first */
export const paletteDialog = createDialog<[stage: StageId | null]>();
export const helpDialog = createDialog();
export const loginsDialog = createDialog();
