/** `npm run build`: bundles the three programs and builds the board, into the `dist` of their packages. */
import { builtFrom, fingerprint } from '../tools/cli/bin/sources.js';
import { buildInto, builtPath, place, root } from './bundles.ts';

const before = fingerprint(root);
const built = await buildInto(root);
place(builtPath, JSON.stringify(built));
place(builtFrom(root), before);
