import { createHash, randomUUID } from 'node:crypto';
import { ProjectId } from '@callboard/contract';
import { createHttpTransport, type StreamItem } from '@callboard/contract/client';
import { prompt } from '@callboard/scripted-model';
import { it } from 'vitest';
import { install } from '../support/callboard.ts';
import { figures, printTable } from './measure.ts';
import { startRawClaude } from './raw-claude.ts';
import { report } from './results.ts';

const ROUNDS = 15;
const TOKEN = 'a-token-for-the-benchmark';

const script = (n: number) =>
  prompt({
    steps: [
      { tools: [{ name: 'Bash', input: { command: `touch f${n}`, description: 'Touch' } }] },
      { text: `done ${n}` },
    ],
  });

it('measures what Callboard adds between Claude and a person', async () => {
  const installation = await install({ CALLBOARD_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex') });
  const { model, folder } = installation;

  const raw = await startRawClaude(model.url, folder, installation.repo);
  const rawAsk: number[] = [];
  const rawAnswer: number[] = [];
  for (let n = 0; n <= ROUNDS; n++) {
    const asked = raw.next('control_request');
    const begun = performance.now();
    raw.send({ type: 'user', uuid: randomUUID(), message: { role: 'user', content: script(n) } });
    const { request_id } = await asked;
    const askedAt = performance.now();
    const ended = raw.next('result');
    raw.send({
      type: 'control_response',
      response: { subtype: 'success', request_id, response: { behavior: 'allow' } },
    });
    await ended;
    if (n === 0) continue; // the first turn starts things up
    rawAsk.push(askedAt - begun);
    rawAnswer.push(performance.now() - askedAt);
  }
  raw.end();

  const running = await installation.start();
  const transport = createHttpTransport({ origin: running.origin, token: TOKEN });
  const done = new AbortController();
  const items: StreamItem[] = [];
  let wake = () => undefined as unknown;
  const reading = (async () => {
    for await (const item of transport.events({ since: 0 }, done.signal)) {
      items.push(item);
      wake();
    }
  })();
  const next = async <T>(pick: (item: StreamItem) => T | undefined): Promise<T> => {
    for (;;) {
      for (let item = items.shift(); item !== undefined; item = items.shift()) {
        const found = pick(item);
        if (found !== undefined) return found;
      }
      await new Promise((resolve) => {
        wake = () => resolve(undefined);
      });
    }
  };
  const nextRequest = () => next((item) => (item.type === 'approval-requested' ? item.data : undefined));
  const nextEnd = () =>
    next((item) => (item.type === 'session-updated' && item.data.state === 'idle' ? true : undefined));

  const project = ProjectId.parse('shop');
  const { stage } = await transport.command('create_stage', { projectId: project, title: 'Bench', prompt: script(0) });
  const stageId = stage.id;
  await transport.command('start_stage', { stageId });
  const ask: number[] = [];
  const answer: number[] = [];
  for (let n = 0; n <= ROUNDS; n++) {
    const begun = performance.now();
    if (n > 0) await transport.command('send_message', { stageId, message: script(n) });
    const { requestId } = await nextRequest();
    const askedAt = performance.now();
    void transport.command('approve_tool', { stageId, requestId, decision: 'allow' });
    await nextEnd();
    if (n === 0) continue;
    ask.push(askedAt - begun);
    answer.push(performance.now() - askedAt);
  }
  done.abort();
  await reading.catch(() => undefined);
  await running.stop();

  const rows = [
    { name: 'message sent -> request at the person', measured: figures(ask), baseline: figures(rawAsk) },
    { name: 'allow -> turn ended at the person', measured: figures(answer), baseline: figures(rawAnswer) },
  ];
  printTable(rows);
  report(
    'latency',
    rows.map(({ name, measured }) => ({ name, value: measured.medianMs, unit: 'ms' })),
  );
});
