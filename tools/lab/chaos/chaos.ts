/**
 * `npm run chaos -- --stages 6 --messages 20 --kills 60 --seed 1`: the long crash test; prints a table at the end. With
 * `--cluster`, three machines share a store on PostgreSQL, and their links are cut as well, also for longer than a lease and with
 * the machine declared lost meanwhile; with `--fail-over` in place of these two, the database has a synchronous standby, which takes
 * over when its server is switched off. With `--emulator` the emulator replaces the real `claude`; for load:
 * `--emulator --stages 300 --messages 3`, or `--cluster --emulator --stages 600`.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    stages: { type: 'string', default: '6' },
    messages: { type: 'string', default: '20' },
    kills: { type: 'string', default: '60' },
    minutes: { type: 'string', default: '10' },
    emulator: { type: 'boolean', default: false },
    cluster: { type: 'boolean', default: false },
    'fail-over': { type: 'boolean', default: false },
    machines: { type: 'string', default: '3' },
    /** For how many seconds the database or a link is away at most; a lease lasts 20. */
    outage: { type: 'string', default: '30' },
  },
});

const isCluster = values.cluster || values['fail-over'];
const file = isCluster ? 'e2e/cluster-chaos' : 'e2e/chaos.e2e';
const { status } = spawnSync('vitest', ['run', '--project', 'durability', file], {
  stdio: 'inherit',
  env: {
    ...process.env,
    CHAOS_SEED: values.seed,
    CHAOS_STAGES: values.stages,
    CHAOS_MESSAGES: values.messages,
    CHAOS_KILLS: values.kills,
    CHAOS_EMULATOR: values.emulator ? '1' : '0',
    CHAOS_MACHINES: values.machines,
    CHAOS_BEYOND_LEASE: isCluster && !values['fail-over'] ? '1' : '0',
    CHAOS_FAIL_OVER: values['fail-over'] ? '1' : '0',
    CHAOS_OUTAGE_MS: String(Number(values.outage) * 1_000),
    CHAOS_TIMEOUT_MS: String(Number(values.minutes) * 60_000),
  },
});
process.exitCode = status ?? 1;
