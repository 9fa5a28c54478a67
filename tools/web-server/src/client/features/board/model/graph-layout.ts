/** The size of a stage in the graph, in pixels. */
export const NODE = { width: 208, height: 48 } as const;

export interface Point {
  x: number;
  y: number;
}

export interface PlacedEdge {
  from: string;
  to: string;
  /** From the border of the one stage to the border of the other. */
  points: readonly Point[];
}

/** Where everything stands, in pixels from the top left corner. */
export interface GraphLayout {
  width: number;
  height: number;
  /** By stage, in the order in which they are read: its top left corner. */
  places: Readonly<Record<string, Point>>;
  edges: readonly PlacedEdge[];
  /** Where the stages without dependencies begin; null if there are none. */
  looseTop: number | null;
}
