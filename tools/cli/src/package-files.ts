import { fileURLToPath } from 'node:url';

// This file is as deep in `src` as its bundle is in `dist`. No other file may rely on its own location.

/** Returns the path of a file of this package. */
export const inPackage = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** Returns the path of a file of another package of Callboard. */
export const besidePackage = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
