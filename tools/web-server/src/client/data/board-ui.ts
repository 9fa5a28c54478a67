import { Column, type ProjectId, type StageId } from '@callboard/contract';
import { z } from 'zod';
import { create } from 'zustand';
import { readStored, writeStored } from '../lib/browser-storage.ts';

/** The form that is open over the board. */
export type BoardForm =
  | { kind: 'new-stage'; projectId: ProjectId | null }
  | { kind: 'edit-stage'; stageId: StageId }
  /** Conversations from a terminal, to continue as stages. */
  | { kind: 'conversations'; projectId: ProjectId | null }
  /** Issues of a code host, to import as stages. */
  | { kind: 'issues'; projectId: ProjectId | null }
  /** The form for the project's first stage may follow. */
  | { kind: 'add-project'; thenNewStage: boolean }
  | { kind: 'project'; projectId: ProjectId; section?: 'Git settings' | 'Import and export' };

/** A card that leaves its column may take this long to appear in the next one. */
const MOVE_MS = 1_000;

/** Where a row stood on the screen. */
type Location = Pick<DOMRect, 'left' | 'top' | 'width' | 'height'>;

/** What only this browser knows of the board. */
interface BoardUi {
  form: BoardForm | null;
  phoneColumn: Column;
  /** A person chose it, or the board opened at it. */
  isPhoneColumnSet: boolean;
  folded: readonly Column[];
  /** By name: the lanes that a person folded or unfolded. */
  lanes: Readonly<Record<string, boolean>>;
  /** How large the graph was drawn, and where it was scrolled to; null before it was shown. */
  graphPlace: { scale: number; x: number; y: number } | null;
  /** By stage: the command of a drop that has no answer yet, in words. */
  sending: Readonly<Record<string, string>>;
  /** The card that left its column while its link had the focus: it was dropped, or moved on its own. */
  focusLeft: { stageId: StageId; at: number } | null;
  /** The rows that have just left their columns, and where they stood: they slide from there. */
  left: Readonly<Record<string, { from: Location; at: number }>>;
  /** The row that a person moved to with a key and that has the focus. */
  inHand: StageId | null;
  /** The row that is to get the focus once it is drawn. */
  wanted: StageId | null;
  /** What is typed into the filter and is not in the address yet; null if nothing is. */
  typed: string | null;
  /** The rows that a person picked, to act on them together. */
  picked: ReadonlySet<StageId>;
  open(form: BoardForm): void;
  closeForm(): void;
  setPhoneColumn(column: Column): void;
  toggleFold(column: Column): void;
  foldLane(name: string, isFolded: boolean): void;
  setSending(stageId: StageId, text: string | null): void;
  leaveFocused(stageId: StageId): void;
  /** Returns whether the card that appears had the focus in its column just now. It answers true once. */
  takeFocus(stageId: StageId): boolean;
  vacate(stageId: StageId, from: Location): void;
  /** Returns where the row that appears stood just now; null if it is new or did not move. It answers once. */
  occupy(stageId: StageId): Location | null;
  takeInHand(stageId: StageId): void;
  /** The row has lost the focus. */
  putDown(stageId: StageId): void;
  /** Moves the focus to a row, which may have to be scrolled to first. */
  goTo(stageId: StageId): void;
  reached(): void;
  setTyped(text: string | null): void;
  togglePick(stageId: StageId): void;
  unpick(): void;
}

const FOLDED = 'callboard-folded';
const LANES = 'callboard-lanes';

export const useBoardUi = create<BoardUi>((set, get) => ({
  form: null,
  phoneColumn: 'needs-you',
  isPhoneColumnSet: false,
  folded: readStored(FOLDED, z.array(Column), []),
  lanes: readStored(LANES, z.record(z.string(), z.boolean()), {}),
  graphPlace: null,
  sending: {},
  focusLeft: null,
  left: {},
  inHand: null,
  wanted: null,
  typed: null,
  picked: new Set(),
  open: (form) => set({ form }),
  closeForm: () => set({ form: null }),
  setPhoneColumn: (phoneColumn) => set({ phoneColumn, isPhoneColumnSet: true }),
  toggleFold: (column) =>
    set(({ folded: old }) => {
      const folded = old.includes(column) ? old.filter((other) => other !== column) : [...old, column];
      writeStored(FOLDED, folded);
      return { folded };
    }),
  foldLane: (name, isFolded) =>
    set(({ lanes: old }) => {
      const lanes = { ...old, [name]: isFolded };
      writeStored(LANES, lanes);
      return { lanes };
    }),
  setSending: (stageId, text) =>
    set(({ sending: { [stageId]: _, ...rest } }) => ({
      sending: text === null ? rest : { ...rest, [stageId]: text },
    })),
  leaveFocused: (stageId) => set({ focusLeft: { stageId, at: performance.now() } }),
  takeFocus(stageId) {
    const { focusLeft } = get();
    if (focusLeft?.stageId !== stageId || performance.now() - focusLeft.at > MOVE_MS) return false;
    set({ focusLeft: null });
    return true;
  },
  vacate: (stageId, from) => set(({ left }) => ({ left: { ...left, [stageId]: { from, at: performance.now() } } })),
  occupy(stageId) {
    const { [stageId]: place, ...left } = get().left;
    if (place === undefined) return null;
    set({ left });
    return performance.now() - place.at > MOVE_MS ? null : place.from;
  },
  takeInHand: (stageId) => set({ inHand: stageId }),
  putDown: (stageId) => set((ui) => (ui.inHand === stageId ? { inHand: null } : ui)),
  goTo: (stageId) => set({ wanted: stageId, inHand: stageId }),
  reached: () => set({ wanted: null }),
  setTyped: (typed) => set({ typed }),
  togglePick: (stageId) =>
    set(({ picked: old }) => ({
      picked: old.has(stageId) ? new Set([...old].filter((id) => id !== stageId)) : new Set([...old, stageId]),
    })),
  unpick: () => set({ picked: new Set() }),
}));
