/** `npm run build`: bundles the programs and builds the board, into the `dist` of their packages, and writes the API's reference. */
import { builtFrom, fingerprint } from '../tools/cli/bin/sources.js';
import { buildInto, builtPath, place, root } from './bundles.ts';
import { writeReference } from './write-api-docs.ts';

const before = fingerprint(root);
const built = await buildInto(root);
await writeReference();
place(builtPath, JSON.stringify(built));
place(builtFrom(root), before);
