import type { RoutedCommand } from '@callboard/contract/client';
import { z } from 'zod';
import { create } from 'zustand';
import { lastCommand } from '../lib/api-client.ts';
import { readStored, writeStored } from '../lib/browser-storage.ts';

/** The steps of the tour. What a person does anywhere ticks them. */
export const TourStep = z.enum(['answer', 'plug', 'changes', 'finish', 'start']);
export type TourStep = z.infer<typeof TourStep>;

const Tour = z.object({ isOpen: z.boolean(), done: z.array(TourStep) });

const STEP_OF: Partial<Record<RoutedCommand, TourStep>> = {
  approve_tool: 'answer',
  answer_question: 'answer',
  crash: 'plug',
  get_diff: 'changes',
  complete_stage: 'finish',
  create_stage: 'start',
};

const KEY = 'callboard-tour';

/** The tour, and what this browser has ever done of it. */
export const useTour = create<z.infer<typeof Tour>>(() => readStored(KEY, Tour, { isOpen: false, done: [] }));

function save(tour: z.infer<typeof Tour>): void {
  useTour.setState(tour);
  writeStored(KEY, tour);
}

export const openTour = (): void => save({ isOpen: true, done: [] });
export const closeTour = (): void => save({ ...useTour.getState(), isOpen: false });

/** Ticks steps from now on. @returns a function that stops it */
export const followTour = (): (() => void) =>
  lastCommand.subscribe(({ type }) => {
    const step = type === null ? undefined : STEP_OF[type];
    const { isOpen, done } = useTour.getState();
    if (step !== undefined && !done.includes(step)) save({ isOpen, done: [...done, step] });
  });
