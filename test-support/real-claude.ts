import { fileURLToPath } from 'node:url';

/** The path of the real `claude` that this repository pins. `npm run versions` names another release. */
export const REAL_CLAUDE =
  process.env.CALLBOARD_TEST_CLAUDE ?? fileURLToPath(new URL('../node_modules/.bin/claude', import.meta.url));
