/** The promises that every `Transport` keeps, tested for each one. */
import { commandDocs } from '@callboard/contract';
import {
  createHttpTransport,
  createInProcessTransport,
  type RoutedCommand,
  type StreamItem,
  type Transport,
} from '@callboard/contract/client';
import { afterEach, describe, expect, it } from 'vitest';
import { GOOD_TOKEN, noAnswer, Refusal } from './fake-orchestrator.ts';
import { startHarness } from './harness.ts';
import { decision, modeChanged, stage } from './samples.ts';

const docs = commandDocs();

const cleanUp: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step();
});

async function start(kind: 'HTTP' | 'in-process') {
  const harness = await startHarness();
  cleanUp.push(harness.stop);
  const { orchestrator, errors } = harness;
  const transport: Transport =
    kind === 'HTTP'
      ? createHttpTransport({ origin: await harness.listen(), token: GOOD_TOKEN })
      : createInProcessTransport({ ...orchestrator, actor: { name: 'Ann' } });
  function listen(since?: number) {
    const items: StreamItem[] = [];
    const over = new AbortController();
    const ended = (async () => {
      for await (const item of transport.events({ since }, over.signal)) items.push(item);
    })();
    const end = () => {
      over.abort();
      return ended;
    };
    cleanUp.push(end);
    const seqs = () => items.flatMap((item) => ('seq' in item ? [item.seq] : []));
    return { items, seqs, end };
  }
  return { transport, orchestrator, listen, errors };
}

const READY = { type: 'orchestrator-status', data: { status: 'ready' } };
const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);
const delta = (text: string) =>
  ({ stageId: stage.id, blockId: 'b', kind: 'text', text, offset: 0, parentToolUseId: null }) as const;

describe.each(['HTTP', 'in-process'] as const)('the %s transport', (kind) => {
  it('sends every command unchanged, and returns its reply', async () => {
    const { transport, orchestrator } = await start(kind);
    for (const [
      name,
      {
        example: { input, reply },
      },
    ] of Object.entries(docs)) {
      const type = name as RoutedCommand; // a key of the table
      Object.assign(orchestrator.handlers, { [type]: () => reply });
      expect(await transport.command(type, input)).toEqual(reply);
      const given = orchestrator.received.filter((command) => command.type !== 'auth_check').at(-1);
      expect(given).toEqual({ type, input, actor: 'Ann' });
    }
  });

  it('refuses input that breaks the contract before sending it', async () => {
    const { transport, orchestrator } = await start(kind);
    for (const wrong of [{ stageId: '' }, { stageId: '../x' }]) {
      const refused = transport.command('start_stage', JSON.parse(JSON.stringify(wrong)));
      await expect(refused).rejects.toMatchObject({ name: 'TransportError', status: 400, code: 'bad_request' });
    }
    expect(orchestrator.received).toEqual([]);
  });

  it('rejects with the status, the code, the message and the decision of a refusal', async () => {
    const { transport, orchestrator } = await start(kind);
    orchestrator.handlers.interrupt = () => {
      throw new Refusal('already_decided', 'Ann was first', decision);
    };
    await expect(transport.command('interrupt', { stageId: stage.id })).rejects.toMatchObject({
      name: 'TransportError',
      status: 409,
      code: 'already_decided',
      message: 'Ann was first',
      decision,
    });
  });

  it('does not pass on a reply that breaks the contract', async () => {
    const { transport, orchestrator, errors } = await start(kind);
    orchestrator.handlers.get_stage = () => JSON.parse('{"stage":{"id":"STAGE-1"}}');
    const broken = transport.command('get_stage', { stageId: stage.id });
    await expect(broken).rejects.toMatchObject({ status: 500, code: 'internal' });
    errors.length = 0; // the web server has logged it
  });

  it('stops waiting when the signal aborts', async () => {
    const { transport, orchestrator } = await start(kind);
    orchestrator.handlers.interrupt = noAnswer;
    const over = new AbortController();
    const waiting = transport.command('interrupt', { stageId: stage.id }, over.signal);
    const reported = expect(waiting).rejects.toThrow('enough');
    await expect.poll(() => orchestrator.inputsOf('interrupt').length).toBe(1);
    over.abort(new Error('enough'));
    await reported;
  });

  it('returns copies, which the caller may change', async () => {
    const { transport } = await start(kind);
    const board = await transport.command('get_board', {});
    board.stages.length = 0;
    expect((await transport.command('get_board', {})).stages).toEqual([stage]);
  });

  it('replays events after `since`, over many pages, and continues with new ones', async () => {
    const { orchestrator, listen } = await start(kind);
    for (let i = 0; i < 1_200; i++) orchestrator.emit();
    const { items, seqs } = listen(0);
    for (let i = 0; i < 10; i++) orchestrator.emit();
    await expect.poll(seqs).toEqual(upTo(1_210));
    expect(items.slice(0, 2)).toEqual([READY, modeChanged(1)]);
    orchestrator.emit();
    await expect.poll(seqs).toEqual(upTo(1_211));
  });

  it('begins with the next new event if no number is given', async () => {
    const { orchestrator, listen } = await start(kind);
    orchestrator.emit();
    const { items } = listen();
    await expect.poll(() => items).toEqual([READY]);
    orchestrator.emit();
    await expect.poll(() => items).toEqual([READY, modeChanged(2)]);
  });

  it('sends resync if the log does not go back far enough, and continues after it', async () => {
    const { orchestrator, listen } = await start(kind);
    for (let i = 0; i < 9; i++) orchestrator.emit();
    orchestrator.prune(5);
    const { items } = listen(1);
    const resync = { type: 'resync', data: { seq: 9 } };
    await expect.poll(() => items).toEqual([READY, resync]);
    orchestrator.emit();
    await expect.poll(() => items).toEqual([READY, resync, modeChanged(10)]);
  });

  it('passes on text of watched stages only, to existing and new streams', async () => {
    const { transport, orchestrator, listen } = await start(kind);
    const first = listen();
    await expect.poll(() => first.items).toEqual([READY]);
    orchestrator.textDelta(delta('unseen'));
    await transport.command('watch', { stageIds: [stage.id] });
    orchestrator.textDelta(delta('a'));
    await expect.poll(() => first.items).toEqual([READY, { type: 'text-delta', data: delta('a') }]);
    await first.end();

    const second = listen();
    await expect.poll(() => second.items).toEqual([READY]);
    await transport.command('watch', { stageIds: [stage.id] });
    orchestrator.textDelta(delta('b'));
    await expect.poll(() => second.items.at(-1)).toEqual({ type: 'text-delta', data: delta('b') });
    await transport.command('watch', { stageIds: [] });
    orchestrator.textDelta(delta('c'));
    orchestrator.emit();
    await expect.poll(() => second.items.at(-1)).toEqual(modeChanged(1));
    expect(second.items).not.toContainEqual({ type: 'text-delta', data: delta('c') });
  });

  it('ends an event stream when its signal aborts', async () => {
    const { orchestrator, listen } = await start(kind);
    const { items, end } = listen();
    await expect.poll(() => items).toEqual([READY]);
    await end();
    orchestrator.emit();
    expect(items).toEqual([READY]);
  });
});
