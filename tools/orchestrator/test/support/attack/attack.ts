/**
 * What a hostile script would try if Claude was allowed to run it: `node attack.ts <file with targets> [names]` runs all attacks, or the
 * named ones, one after another, and prints each outcome as JSON. It needs only Node, and Perl for two system calls.
 */
import { readFileSync } from 'node:fs';
import { fileAttacks } from './files.ts';
import { networkAttacks } from './network.ts';
import { messageOf, refused } from './outcomes.ts';
import { processAttacks } from './processes.ts';
import type { Outcome, Targets } from './targets.ts';

const ATTACKS = { ...fileAttacks, ...networkAttacks, ...processAttacks };

const [, , file = '', ...names] = process.argv;
const targets = JSON.parse(readFileSync(file, 'utf8')) as Targets;
const outcomes: Record<string, Outcome> = {};
for (const [name, attack] of Object.entries(ATTACKS)) {
  if (names.length > 0 && !names.includes(name)) continue;
  try {
    outcomes[name] = await attack(targets);
  } catch (error) {
    outcomes[name] = refused(messageOf(error));
  }
}
process.stdout.write(`${JSON.stringify(outcomes)}\n`);
