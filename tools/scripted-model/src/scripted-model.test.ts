import { afterEach, describe, expect, it } from 'vitest';
import { prompt } from './prompt.ts';
import type { Step } from './script.ts';
import { type ScriptedModel, type ScriptedModelOptions, startScriptedModel } from './scripted-model.ts';

const started: ScriptedModel[] = [];

afterEach(async () => {
  await Promise.all(started.splice(0).map((model) => model.close()));
});

async function start(options?: ScriptedModelOptions): Promise<ScriptedModel> {
  const model = await startScriptedModel(options);
  started.push(model);
  return model;
}

/** Asks for the first step of a script, as the CLI would. */
function ask({ url }: ScriptedModel, step: Step, body: object = {}): Promise<Response> {
  const messages = [{ role: 'user', content: prompt({ steps: [step] }) }];
  return post(`${url}/v1/messages?beta=true`, {
    model: 'm',
    stream: true,
    tools: [{ name: 'Bash' }],
    messages,
    ...body,
  });
}

function post(url: string, body: unknown): Promise<Response> {
  return fetch(url, { method: 'POST', body: JSON.stringify(body), headers: { 'x-claude-code-session-id': 's1' } });
}

describe('a reply', () => {
  it('is streamed as server-sent events', async () => {
    const response = await ask(await start(), { text: 'Hello' });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    expect(await response.text()).toMatch(/^event: message_start\n[\s\S]*"text":"Hello"[\s\S]*event: message_stop\n/);
  });

  it('is one object when it is not to be streamed', async () => {
    const response = await ask(await start(), { text: 'Hello' }, { stream: false });
    expect(await response.json()).toMatchObject({ content: [{ text: 'Hello' }], stop_reason: 'end_turn' });
  });

  it('survives being cut within characters', async () => {
    const response = await ask(await start(), { text: 'größer 🎈 界', chunkBytes: 1 });
    expect(await response.text()).toContain('größer 🎈 界');
  });

  it('waits for its gate', async () => {
    const model = await start();
    const answer = ask(model, { text: 'late', gate: 'go' });
    await model.waitForRequest(({ kind }) => kind === 'script');
    await ask(model, { text: 'another one' });
    expect(await Promise.race([answer, 'still waiting'])).toBe('still waiting');
    model.release('go');
    expect((await answer).status).toBe(200);
    expect((await ask(model, { text: 'at once', gate: 'go' })).status).toBe(200);
  });

  it('fails as often as scripted, then comes', async () => {
    const model = await start();
    const step: Step = { text: 'x', error: { status: 529, times: 2, retryAfterSeconds: 1 } };
    const first = await ask(model, step);
    expect([first.status, first.headers.get('retry-after')]).toEqual([529, '1']);
    expect(await first.json()).toMatchObject({ type: 'error', error: { type: 'overloaded_error' } });
    expect([(await ask(model, step)).status, (await ask(model, step)).status]).toEqual([529, 200]);
  });

  it('may be cut off before or in the middle', async () => {
    const model = await start();
    await expect(ask(model, { text: 'x', cut: 'before' })).rejects.toThrow('fetch failed');
    const response = await ask(model, { text: 'x', cut: 'during' });
    await expect(response.text()).rejects.toThrow('terminated');
    const whole = await ask(model, { text: 'x', cut: 'during' }, { stream: false });
    await expect(whole.text()).rejects.toThrow('terminated');
  });

  it('may hold an error in the stream', async () => {
    const text = await (await ask(await start(), { text: 'x', streamError: { message: 'm' } })).text();
    expect(text).toContain('event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"m"}}');
    expect(text).not.toContain('message_stop');
  });
});

describe('close', () => {
  it('ends hanging and waiting replies at once, and waits for requests', async () => {
    const model = await start();
    const pending = [ask(model, { hangs: true }), ask(model, { gate: 'never' }), ask(model, { delayMs: 60_000 })];
    const streaming = await ask(model, { text: 'begin', hangs: true });
    const failures = Promise.allSettled([...pending, streaming.text(), model.waitForRequest(() => false)]);
    await model.waitForRequest(() => model.requests.length === 4);
    await Promise.all([model.close(), model.close()]);
    expect((await failures).map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
  });
});

describe('the log', () => {
  it('holds what was asked and what was chosen', async () => {
    const reported: unknown[] = [];
    const model = await start({ log: (request) => reported.push(request) });
    await ask(model, { text: 'x' }, { system: [{ type: 'text', text: 'Be kind' }] });
    expect(model.requests).toMatchObject([
      { model: 'm', system: 'Be kind', tools: ['Bash'], sessionId: 's1', kind: 'script', script: 'inline', step: 0 },
    ]);
    expect(reported).toEqual(model.requests);
  });

  it('keeps the newest requests', async () => {
    const model = await start({ maxRequests: 1 });
    await ask(model, { text: 'x' }, { model: 'first' });
    await ask(model, { text: 'x' }, { model: 'second' });
    expect(model.requests.map((request) => request.model)).toEqual(['second']);
  });

  it('ends a wait at its time limit or signal', async () => {
    const model = await start();
    await expect(model.waitForRequest(() => false, { timeoutMs: 1 })).rejects.toThrow('did not come');
    await expect(model.waitForRequest(() => false, { signal: AbortSignal.abort() })).rejects.toThrow('did not come');
  });
});

describe('everything else', () => {
  it('is answered harmlessly', async () => {
    const { url } = await start();
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
    expect(await (await fetch(`${url}/api/anything`)).json()).toEqual({});
    expect(await (await post(`${url}/v1/messages/count_tokens`, {})).json()).toEqual({
      input_tokens: expect.any(Number),
    });
  });

  it('is refused when it is no request at all', async () => {
    const { url } = await start();
    expect((await post(`${url}/v1/messages`, { nonsense: true })).status).toBe(400);
  });

  it('learns new scripts while it runs', async () => {
    const model = await start();
    model.setScript('later', { steps: [{ text: 'learnt' }] });
    const response = await ask(model, {}, { messages: [{ role: 'user', content: '[[script:@later]]' }] });
    expect(await response.text()).toContain('learnt');
  });
});
