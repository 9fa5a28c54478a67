import type { Signal } from '@callboard/contract';

/** What each signal is called. */
export const signalTitles: Readonly<Record<Signal, string>> = {
  waiting: 'Waiting for you',
  failed: 'Failed',
  finished: 'Finished',
};
