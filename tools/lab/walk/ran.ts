/** Functions of one file that ran, each by the offset at which it starts in the file. */
export interface Ran {
  url: string;
  starts: number[];
}

/** A script in a report of V8's precise coverage. */
interface Script {
  url: string;
  functions: readonly { ranges: readonly { startOffset: number; count: number }[] }[];
}

/** The functions that ran in each script. */
export function ranIn(scripts: readonly Script[]): Ran[] {
  return scripts.map(({ url, functions }) => ({
    url,
    starts: functions.flatMap(({ ranges: [whole] }) =>
      whole !== undefined && whole.count > 0 ? [whole.startOffset] : [],
    ),
  }));
}
