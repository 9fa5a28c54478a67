/** How the board shows its stages: in columns, in columns cut into lanes of one group each, or as a graph of dependencies. */
export type Display = 'columns' | 'lanes' | 'graph';

/** In the order of the switch, and of the key that goes from one to the next. */
export const DISPLAYS: readonly Display[] = ['columns', 'lanes', 'graph'];

export const DISPLAY_TEXTS: Readonly<Record<Display, string>> = { columns: 'Columns', lanes: 'Groups', graph: 'Graph' };

const NAME = 'view';

export const readDisplay = (params: URLSearchParams): Display =>
  DISPLAYS.find((display) => display === params.get(NAME)) ?? 'columns';

/** The URL's query with this display. The filter and everything else stays. */
export function writeDisplay(params: URLSearchParams, display: Display): URLSearchParams {
  const next = new URLSearchParams(params);
  if (display === 'columns') next.delete(NAME);
  else next.set(NAME, display);
  return next;
}
