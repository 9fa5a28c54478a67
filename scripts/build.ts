/** `npm run build`: bundles the three programs and builds the board, into the `dist` of their packages. */
import { builtFrom, fingerprint } from '../tools/cli/bin/sources.js';
import { buildInto, place, root } from './bundles.ts';

const before = fingerprint(root);
await buildInto(root);
place(builtFrom(root), before);
