import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { REAL_CLAUDE } from '../../../../test-support/real-claude.ts';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { fakeClaude } from '../doctor/fake-claude.ts';
import { createKit } from '../support/kit.ts';

const OLD = '2.1.232';

/** Runs the real `claude`, which says that it is an older release. */
const older = (folder: string) =>
  fakeClaude(
    folder,
    `#!/bin/bash
if [ "$1" = --version ]; then echo '${OLD} (Claude Code)'; exit; fi
exec '${REAL_CLAUDE}' "$@" > >(exec sed -u 's/"claude_code_version":"[^"]*"/"claude_code_version":"${OLD}"/')
`,
  );

it('lists on a session what its release of Claude Code lacks, which the board shows', async () => {
  const { client, startStage } = await createKit({ claudePath: await older(await temporaryFolder()) });
  const stageId = await startStage(prompt({ steps: [{ text: 'All finished.' }] }));
  await client.state(stageId, 'idle');
  const { session } = await client.command('get_session', { stageId });
  expect(session).toMatchObject({
    cliVersion: OLD,
    cliGaps: [
      'tools that a hook allows go unnoticed',
      'a message that begins with / runs as a command, and @path attaches files',
    ],
  });
});
