// Run by the guard when the demo was killed: its servers are about to end by themselves, its sessions are not.
import { setTimeout as sleep } from 'node:timers/promises';
import { findLockHolder } from '@callboard/runtime/process-lock';
import { nodeEdges } from '../edges.ts';
import { clearUp, demoLayout } from './clear-up.ts';

const [root] = process.argv.slice(2);
if (root === undefined) throw new Error('usage: clear-up-main.ts FOLDER');
const lock = `${demoLayout(root).dataDir}/run/orchestrator.json`;
const deadline = performance.now() + 15_000;
while (performance.now() < deadline && (await findLockHolder(lock)) !== null) await sleep(100);
process.exitCode = (await clearUp(root, nodeEdges(process).endAllSessions)).length === 0 ? 0 : 1;
