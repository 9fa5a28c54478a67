/** Three machines on one PostgreSQL: each process is killed, and each link is cut. */
import { describe, it } from 'vitest';
import { postgresLack } from '../test-support/postgres.ts';
import { LEASE_VICTIMS, SHARED_VICTIMS, STANDBY_VICTIMS, VICTIMS, type Victims } from '../tools/lab/chaos/killer.ts';
import { FIXED_SEED, prove, testTimeoutMs } from '../tools/lab/chaos/prove.ts';

const MACHINES = Number(process.env.CHAOS_MACHINES ?? 3);
/** `npm run chaos -- --cluster` also cuts machines off for longer than their lease: that takes half a minute each time. */
const BEYOND = process.env.CHAOS_BEYOND_LEASE === '1' ? LEASE_VICTIMS : [];
/** With `--fail-over`, the server of the database is switched off for good instead, and its standby takes over. */
const FAIL_OVER = process.env.CHAOS_FAIL_OVER === '1' ? STANDBY_VICTIMS : [];
const ALL: Victims = [...VICTIMS, ...SHARED_VICTIMS, ...BEYOND, ...FAIL_OVER];
/** Each of them once. */
const SHORT = { stages: 3, messages: 1, kills: ALL.length, timeoutMs: 600_000, outageMs: 1_500 };

describe.skipIf(postgresLack !== '')(`several machines on one store${postgresLack && ` (${postgresLack})`}`, () => {
  it(
    `lose and double nothing while parts are killed and links are cut (seed ${FIXED_SEED})`,
    { timeout: testTimeoutMs(SHORT) },
    () => prove({ seed: FIXED_SEED, victims: ALL, sharedBy: MACHINES }, SHORT),
  );
});
