/**
 * For `--import`, so that a program that runs from its sources loads them in a third of the time: what Node made of them is
 * kept in `node_modules`. Not by NODE_COMPILE_CACHE, which the programs that it starts would see.
 */
export const COMPILE_CACHE = new URL('./keep-compiled.js', import.meta.url).href;
