import { commands } from '@callboard/contract';
import { createInProcessTransport } from '@callboard/contract/client';
import { embedOrchestrator } from '@callboard/orchestrator';
import { prompt } from '@callboard/scripted-model';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { createKit } from '../support/kit.ts';

it('works from within its own process as it does over the network', async () => {
  const kit = await createKit();
  await kit.stop();
  const { dataDir, claudePath } = kit.config;
  const orchestrator = await embedOrchestrator({ dataDir, env: kit.env, ...(claudePath !== null && { claudePath }) });
  const done = new AbortController();
  try {
    const { execute, onEvent, onTextDelta } = orchestrator;
    const transport = createInProcessTransport({ execute, onEvent, onTextDelta, actor: { name: 'Embedder' } });
    const tools = [{ name: 'Bash', input: { command: 'touch made.txt', description: 'Make it' } }];
    const script = prompt({ steps: [{ tools }, { text: 'All done.', chunkChars: 3 }] });
    const { stage } = await transport.command('create_stage', { projectId: kit.projectId, title: 'A', prompt: script });
    await transport.command('watch', { stageIds: [stage.id] });
    const started = transport.command('start_stage', { stageId: stage.id });
    let text = '';
    for await (const item of transport.events({ since: 0 }, done.signal)) {
      if (item.type === 'text-delta') text += item.data.text;
      if (item.type === 'approval-requested') {
        const { stageId, requestId } = item.data;
        await transport.command('approve_tool', { stageId, requestId, decision: 'allow' });
      }
      if (item.type === 'approval-resolved') expect(item.data.by).toBe('Embedder');
      if (item.type === 'session-updated' && item.data.state === 'idle') break;
    }
    await started;
    expect(text).toBe('All done.');
    // Spawning and storing have delayed the event loop's timers for a while.
    const counts = await execute(JSON.stringify({ type: 'get_counts', id: 'counts' }), () => undefined);
    expect(counts).toMatchObject({ ok: true });
    const { data } = z.object({ data: commands.get_counts.reply }).parse(counts);
    expect(data.loopDelay.maxMs).toBeGreaterThan(0);
  } finally {
    done.abort();
    await orchestrator.stop();
  }
});
