import { v4, v7 } from 'uuid';

/** The outside world as far as tests swap it: the clock and the ids. */
export interface Edges {
  now(): Date;
  /** A time-ordered id (UUID v7), for rows. */
  newId(): string;
  /** A random id (UUID v4), for what goes to the CLI, which mints ids of the same kind. */
  newWireId(): string;
}

export const nodeEdges: Edges = { now: () => new Date(), newId: () => v7(), newWireId: () => v4() };
