import { ProjectId, RequestId, StageId } from '@callboard/contract';
import { routes, TransportError } from '@callboard/contract/client';
import { afterEach, expect, it, vi } from 'vitest';
import { client, errorText, failureText, isLoggedOut, isTransient } from './api-client.ts';

// The requests the page sends, and how it reads the responses.

interface Sent {
  url: string;
  init: RequestInit;
}

const stageId = StageId.parse('STAGE-1');
const json = (body: unknown, status = 200) => new Response(JSON.stringify(body), { status });
const refusal = (status: number, code: string) =>
  json({ type: 'about:blank', title: code, status, code, detail: `The words of ${code}.` }, status);

/** Stubs a page that proves itself on request; all other requests get `answer`. */
function openPage(answer: (sent: Sent) => Response | Promise<Response>): Sent[] {
  const sent: Sent[] = [];
  vi.stubGlobal('location', { origin: 'http://127.0.0.1:3100' });
  vi.stubGlobal('fetch', async (url: string, init: RequestInit = {}) => {
    if (url === '/api/login/nonce') return json({ nonce: 'n' });
    if (url === '/api/login/proof') return json({ token: 'shown', loginId: 'l' });
    sent.push({ url, init });
    return answer({ url, init });
  });
  return sent;
}
afterEach(() => vi.unstubAllGlobals());

async function failureOf(given: Promise<unknown>): Promise<unknown> {
  const [result] = await Promise.allSettled([given]);
  return result.status === 'rejected' ? result.reason : 'it succeeded';
}
const failureWith = (answer: Response) => {
  openPage(() => answer);
  return failureOf(client.command('interrupt', { stageId }, { signal: new AbortController().signal }));
};

it('sends a command once, to its route, with the page’s proof', async () => {
  const sent = openPage(() => json({ decision: null }));
  await failureOf(
    client.command(
      'approve_tool',
      { stageId, requestId: RequestId.parse('r'), decision: 'allow' },
      { keepalive: true },
    ),
  );
  await failureOf(client.command('suggest_files', { stageId, query: 'a b' }));
  await failureOf(client.command('remove_rule', { ruleId: 'r/1' }));
  expect(sent.map(({ url, init: { method, body, keepalive } }) => [method, url, body, keepalive])).toEqual([
    ['POST', '/api/sessions/STAGE-1/approve', '{"requestId":"r","decision":"allow"}', true],
    ['GET', '/api/stages/STAGE-1/files?query=a+b', undefined, undefined],
    ['DELETE', '/api/rules/r%2F1', '{}', undefined],
  ]);
  for (const { init } of sent) expect(new Headers(init.headers).get('x-callboard-page')).toBe('shown');
});

it('reports a refusal in the server’s words', async () => {
  const error = await failureWith(refusal(409, 'not_running'));
  expect(error).toMatchObject({ name: 'TransportError', status: 409, code: 'not_running', decision: null });
  expect(errorText(error)).toBe('The words of not_running.');
});

it('reports a missing or incomplete response in words for a person', async () => {
  const text = 'Callboard did not answer. Try again once it is back.';
  const half = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"session"'));
      controller.error(new TypeError('terminated'));
    },
  });
  const sent = openPage(() => Promise.reject(new TypeError('Failed to fetch')));
  for (const error of [
    await failureOf(client.command('get_session', { stageId })),
    await failureOf(client.command('interrupt', { stageId }, { keepalive: true })),
    await failureWith(new Response(half)),
    await failureOf(client.file(routes.get_decisions, { format: 'csv' })),
  ]) {
    expect(error).toMatchObject({ name: 'TransportError', status: 0, code: 'network', message: text });
    expect(isTransient(error)).toBe(true);
  }
  expect(sent.length).toBe(2);
});

it('asks what became of a command whose reply was lost, under its key, and does not say that nothing happened', async () => {
  let attempts = 0;
  const sent = openPage(() => {
    attempts += 1;
    if (attempts < 3) throw new TypeError('Failed to fetch');
    return refusal(503, 'no_confirmation');
  });
  const error = await failureOf(client.command('interrupt', { stageId }));
  const header = (name: string) => sent.map(({ init }) => new Headers(init.headers).get(name));
  expect(header('idempotency-age')).toEqual([null, expect.stringMatching(/^\d+$/), expect.stringMatching(/^\d+$/)]);
  const [key] = new Set(header('idempotency-key'));
  expect(header('idempotency-key')).toEqual([key, key, key]);
  expect(key).toMatch(/^[0-9a-f-]{36}$/);
  expect(failureText('It was not stopped.', error)).toBe('It was not stopped, or its confirmation was lost.');
  expect(failureText('It was not stopped', new Error('no'))).toBe('It was not stopped');
});

it('reports an unreadable response in words for a person', async () => {
  const text = (what: string) =>
    `Callboard sent a response that this page does not understand (${what}). Reload the page: it may be older than the server.`;
  const proxy = await failureWith(new Response('<h1>Bad gateway</h1>', { status: 502 }));
  expect(proxy).toMatchObject({ status: 502, code: 'unreadable', message: text('status 502') });
  expect(isTransient(proxy)).toBe(true);
  const other = await failureWith(json({ session: 7 }));
  expect(other).toMatchObject({ status: 200, code: 'unreadable' });
  expect(errorText(other)).toMatch(/^Callboard sent a response that this page does not understand \(.*session/s);
  expect(isTransient(other)).toBe(false);
});

it('checks a reply with the schema of its command', async () => {
  const given = { path: '/repo' };
  openPage(() => json({ project: { projectId: ProjectId.parse('repo') } }));
  expect(errorText(await failureOf(client.command('create_project', given)))).toContain('created');
});

it('rejects with the reason of an aborted signal', async () => {
  const reason = new Error('enough');
  const over = new AbortController();
  openPage(
    ({ init: { signal } }) =>
      new Promise((_resolve, reject) => {
        if (signal?.aborted) reject(signal.reason); // while the page was proving itself
        signal?.addEventListener('abort', () => reject(signal.reason));
      }),
  );
  const waiting = failureOf(client.command('interrupt', { stageId }, { signal: over.signal }));
  over.abort(reason);
  expect(await waiting).toBe(reason);
});

it('tells an ended login from a page that has to prove itself again', () => {
  const ended = new TransportError(401, 'not_logged_in', '');
  const unproven = new TransportError(401, 'page_not_proven', '');
  expect([ended, unproven].map(isLoggedOut)).toEqual([true, false]);
  expect([ended, unproven].map(isTransient)).toEqual([false, true]);
});
