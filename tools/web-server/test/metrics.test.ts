import { afterEach, expect, it } from 'vitest';
import { parseMetrics, sampleValue } from '../../../test-support/prometheus.ts';
import { Refusal } from './fake-orchestrator.ts';
import { bearer, type Harness, startHarness } from './harness.ts';

const TOKEN = 'for-prometheus';
const OF_ORCHESTRATOR = '# HELP callboard_x X.\n# TYPE callboard_x gauge\ncallboard_x 1\n';

let harness: Harness;
afterEach(() => harness.stop());

async function start() {
  harness = await startHarness();
  harness.orchestrator.handlers.get_metrics = ({ token }) => {
    if (token !== TOKEN) throw new Refusal('not_logged_in', 'This is not a token for metrics.');
    return { text: OF_ORCHESTRATOR };
  };
  const scrape = (headers: Record<string, string>) => harness.app.inject({ url: '/metrics', headers });
  return { ...harness, scrape, withToken: { authorization: `Bearer ${TOKEN}` } };
}

it('tells the figures of both processes to a token for metrics, and nothing to anybody else', async () => {
  const { scrape, withToken } = await start();
  const reported = await scrape(withToken);
  expect(reported.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  const samples = parseMetrics(reported.body);
  expect(sampleValue(samples, 'callboard_x')).toBe(1);
  expect(sampleValue(samples, 'callboard_orchestrator_up')).toBe(1);
  expect(sampleValue(samples, 'callboard_event_streams')).toBe(0);
  expect(sampleValue(samples, 'callboard_web_server_resident_memory_bytes')).toBeGreaterThan(1e6);
  for (const headers of [{}, bearer, { authorization: 'Bearer guess' }, { authorization: `Basic ${TOKEN}` }]) {
    const refused = await scrape(headers);
    expect([refused.statusCode, refused.json().code]).toEqual([401, 'not_logged_in']);
  }
});

it('tells its own figures while the orchestrator is away, to a token that was good before', async () => {
  const { scrape, withToken, orchestrator, client } = await start();
  await scrape(withToken);
  await orchestrator.kill();
  await expect.poll(client.status).toBe('unreachable');
  const samples = parseMetrics((await scrape(withToken)).body);
  expect(sampleValue(samples, 'callboard_orchestrator_up')).toBe(0);
  expect(sampleValue(samples, 'callboard_x')).toBeUndefined();
  const unknown = await scrape({ authorization: 'Bearer another' });
  expect([unknown.statusCode, unknown.headers['retry-after']]).toEqual([503, '1']);
});
