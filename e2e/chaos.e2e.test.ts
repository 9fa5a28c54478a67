import { it } from 'vitest';
import { VICTIMS, type Victim, type Victims } from '../tools/lab/chaos/killer.ts';
import { prove, FIXED_SEED as seed, testTimeoutMs } from '../tools/lab/chaos/prove.ts';

const SHORT = { stages: 2, messages: 4, kills: 8, timeoutMs: 400_000, outageMs: 0 };

const [first, ...others]: readonly Victim[] = VICTIMS.filter((victim) => victim !== 'claude');
const OURS: Victims = [first ?? 'orchestrator', ...others];

it.each<[string, Victims]>([
  ['Callboard’s own parts are killed and connections cut', OURS],
  ['claude is killed as well', VICTIMS],
])(`loses and doubles nothing while %s (seed ${seed})`, { timeout: testTimeoutMs(SHORT) }, (_, victims) =>
  prove({ seed, victims, sharedBy: null }, SHORT),
);
