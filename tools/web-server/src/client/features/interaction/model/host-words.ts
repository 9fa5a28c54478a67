import type { HostPlace } from '@callboard/contract';

/** What it means to reach it, in a sentence. */
export const PLACE_WORDS: Record<HostPlace, string> = {
  'this-machine': 'This is your own machine: every server that listens on it can be reached, Callboard’s included.',
  metadata: 'Cloud machines hand out their credentials at this address.',
  'local-network': 'This is a host of your local network.',
};
