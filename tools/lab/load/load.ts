/** `npm run load -- --megabytes 1024`: one session prints continuously, with clients that read and clients that do not. */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '1024' },
    rate: { type: 'string', default: '5' },
    clients: { type: 'string', default: '10' },
    minutes: { type: 'string', default: '10' },
  },
});

const { status } = spawnSync('vitest', ['run', '--project', 'e2e', 'load.e2e'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    CALLBOARD_TEST_ALL: '1', // npm test leaves it out
    LOAD_MEGABYTES: values.megabytes,
    LOAD_MEGABYTES_PER_SECOND: values.rate,
    LOAD_CLIENTS: values.clients,
    LOAD_TIMEOUT_MS: String(Number(values.minutes) * 60_000),
  },
});
process.exitCode = status ?? 1;
