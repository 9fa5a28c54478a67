// The guard runs this after the demo was killed: its servers end soon, but its sessions continue.
import { setTimeout as sleep } from 'node:timers/promises';
import { findLockHolder } from '@callboard/runtime/process-lock';
import { nodePlatform } from '../platform.ts';
import { cleanUp, demoLayout } from './clean-up.ts';

const [root] = process.argv.slice(2);
if (root === undefined) throw new Error('usage: clean-up-main.ts FOLDER');
const lock = `${demoLayout(root).dataDir}/run/orchestrator.json`;
const deadline = performance.now() + 15_000;
while (performance.now() < deadline && (await findLockHolder(lock)) !== null) await sleep(100);
process.exitCode = (await cleanUp(root, nodePlatform(process).endAllSessions)).length === 0 ? 0 : 1;
