import { type ComponentType, lazy } from 'react';

/** A part of the app could not be fetched: nobody answered, or Callboard was updated and the part has another name now. */
export class PartNotFetched extends Error {
  constructor(cause: unknown) {
    super('A part of the page could not be fetched.', { cause });
    this.name = 'PartNotFetched';
  }
}

/**
 * A component that is fetched when it is first shown. A browser remembers that a part could not be fetched, so only
 * loading the page anew tries again: `Part` (ui) offers that.
 */
export const onDemand = <P>(load: () => Promise<{ default: ComponentType<P> }>) =>
  lazy(() =>
    load().catch((error: unknown) => {
      throw new PartNotFetched(error);
    }),
  );
