import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type DatabaseAddress, parseDatabaseUrl } from '@callboard/runtime/database-url';
import { expect, it, onTestFinished } from 'vitest';
import { findProgram } from '../../../scripts/debian.ts';
import { createDatabase, postgresLack } from '../../../test-support/postgres.ts';
import { temporaryFolder } from '../../../test-support/temporary-folder.ts';
import { sampleProject, silent, stageId, tickingPlatform } from '../../orchestrator/test/support/test-store.ts';
import { openPostgresStore } from './postgres-store.ts';

const [dumps, restores] = ['pg_dump', 'pg_restore'].map(findProgram);
const lack = postgresLack || (dumps && restores ? '' : 'needs pg_dump and pg_restore');

async function open(address: DatabaseAddress) {
  const store = await openPostgresStore({ address, platform: tickingPlatform(), log: silent });
  onTestFinished(store.close);
  const write = (index: number) =>
    store.transact((tx) => tx.emit({ type: 'transcript-appended', data: { stageId: stageId('S1'), index } }));
  return { store, write };
}

it.skipIf(lack !== '')(
  `a dump that is made while Callboard runs is restored into a new database, whose events get new numbers${lack && ` (${lack})`}`,
  async () => {
    const [url, empty] = [await createDatabase(), await createDatabase()];
    const { store, write } = await open(parseDatabaseUrl(url));
    const project = sampleProject();
    await store.transact((tx) => tx.projects.save(project));
    for (let index = 1; index <= 5; index++) await write(index);
    const file = join(await temporaryFolder(), 'callboard.dump');
    await promisify(execFile)(dumps ?? '', ['--format=custom', `--file=${file}`, url]);
    await write(6); // after the dump
    await promisify(execFile)(restores ?? '', ['--exit-on-error', '--no-owner', `--dbname=${empty}`, file]);
    const restored = await open(parseDatabaseUrl(empty));
    expect(await restored.store.read.projects.list()).toEqual([project]);
    await restored.write(6);
    expect(await restored.store.read.events.lastSeq()).toBeGreaterThan(1_000_000_000); // 6 is taken: browsers know it
    await write(7); // the first one goes on
    expect(await store.read.events.lastSeq()).toBe(7);
  },
);
