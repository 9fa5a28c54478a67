import { fileURLToPath } from 'node:url';

// This file lies as deep in `src` as what is bundled of it in `dist`, and nothing else may look from where it lies.

/** The path of a file of this package. */
export const inPackage = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));

/** The path of a file of another package of Callboard. */
export const besidePackage = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
