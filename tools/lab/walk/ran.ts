/** Functions of one file that ran, each by the offsets at which it starts and ends in the file. */
export interface Ran {
  url: string;
  functions: [start: number, end: number][];
}

/** A script in a report of V8's precise coverage. */
interface Script {
  url: string;
  functions: readonly { ranges: readonly { startOffset: number; endOffset: number; count: number }[] }[];
}

/** The functions that ran in each script. */
export function ranIn(scripts: readonly Script[]): Ran[] {
  return scripts.map(({ url, functions }) => ({
    url,
    functions: functions.flatMap(({ ranges: [whole] }) =>
      whole !== undefined && whole.count > 0 ? [[whole.startOffset, whole.endOffset] as [number, number]] : [],
    ),
  }));
}
