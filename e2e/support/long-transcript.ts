import { join } from 'node:path';
import { type NewTranscriptEntry, StageId, TranscriptEntry } from '@callboard/contract';
import { nodePlatform } from '../../tools/orchestrator/src/platform/runtime.ts';
import { openSqliteStore } from '../../tools/orchestrator/src/store/sqlite/sqlite-store.ts';
import { silent } from '../../tools/orchestrator/test/support/test-store.ts';

/**
 * Extends a stage's transcript to `count` entries and a few more, directly in the store: turns with commands and
 * edits, then the additional entries. Nothing else may run on the data directory.
 */
export async function lengthenTranscript(
  dataDir: string,
  stage: string,
  count: number,
  last: readonly NewTranscriptEntry[],
): Promise<void> {
  const store = await openSqliteStore(join(dataDir, 'store.sqlite'), nodePlatform, silent);
  const stageId = StageId.parse(stage);
  await store.transact(async (tx) => {
    const session = await tx.sessions.find(stageId);
    if (session === null) throw new Error(`${stage} was never started`);
    const added: NewTranscriptEntry[] = [];
    for (let n = 0; session.transcriptLength + added.length + last.length < count; n += 1) added.push(...turn(n));
    added.push(...last);
    const entries = added.map((entry, i) =>
      TranscriptEntry.parse({ ...entry, stageId, at: tx.now, index: session.transcriptLength + i + 1 }),
    );
    await tx.transcript.append(entries);
    await tx.sessions.save({ ...session, transcriptLength: session.transcriptLength + entries.length });
  });
  await store.close();
}

const own = { parentToolUseId: null };

function turn(n: number): NewTranscriptEntry[] {
  const tools = [
    { toolName: 'Bash', input: { command: `npm test -- ${n}`, description: 'Test it' } },
    { toolName: 'Edit', input: { file_path: `src/f${n}.ts`, old_string: 'a', new_string: 'b' } },
  ];
  return [
    { ...own, kind: 'user', text: `Question ${n}`, messageId: null, by: 'Ada', attachments: [] },
    {
      ...own,
      kind: 'text',
      blockId: `turn-${n}:0`,
      text: `Answer ${n}, in **bold**. ${'And more words. '.repeat(n % 20)}`,
    },
    ...tools.flatMap(({ toolName, input }): NewTranscriptEntry[] => {
      const toolUseId = `${toolName}-${n}`;
      return [
        { ...own, kind: 'tool-use', toolUseId, toolName, input },
        {
          ...own,
          kind: 'tool-result',
          toolUseId,
          isError: false,
          text: 'fine\n'.repeat(n % 30),
          allowedBy: null,
          sandboxFailure: null,
        },
      ];
    }),
    { ...own, kind: 'turn-end', outcome: 'succeeded', message: null, durationMs: 1_000, costUsd: 0.1 },
  ];
}
