/** How many days the page can show. */
export const RANGES = [7, 30, 90] as const;
const USUAL = 30;

/** Returns the number of days that the address asks for; the usual one if it asks for none that the page has. */
export const readRange = (params: URLSearchParams): number =>
  RANGES.find((days) => String(days) === params.get('range')) ?? USUAL;

/** Returns the view of a chart that the address asks for; the first one if it asks for none that the chart has. */
export const readView = <View extends string>(
  params: URLSearchParams,
  name: string,
  views: readonly [View, ...View[]],
): View => views.find((view) => view === params.get(name)) ?? views[0];

/** Returns the address with one value changed. */
export function withValue(params: URLSearchParams, name: string, value: string): URLSearchParams {
  const changed = new URLSearchParams(params);
  changed.set(name, value);
  return changed;
}
