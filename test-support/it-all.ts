import { it } from 'vitest';
import { ALL } from './variants.ts';

/** A test of `npm run test:all` alone: what it proves, a smaller test of `npm test` proves as well (docs/decisions/tests.md). */
export const itAll = it.runIf(ALL);
