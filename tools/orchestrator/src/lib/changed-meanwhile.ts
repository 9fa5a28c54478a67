/** Returns a sentence about files that somebody else changed while git moved a checkout. */
export const changedMeanwhile = (files: readonly string[]): string =>
  `Somebody else changed ${files.slice(0, 5).join(', ')}${files.length > 5 ? ` and ${files.length - 5} more` : ''} meanwhile; Callboard left that as it is.`;
