import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LoginSources } from '@callboard/orchestrator/doctor';
import { beforeEach, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../test-support/temporary-folder.ts';
import { checkLogin } from './machine-checks.ts';

let home: string;
beforeEach(async () => {
  home = await temporaryFolder();
  await mkdir(join(home, '.claude'));
});

const put = (name: string, content: unknown) => writeFile(join(home, '.claude', name), JSON.stringify(content));
const unexpected = () => Promise.reject(new Error('what is known need not be asked for'));
const check = (parts: Partial<LoginSources> = {}) => checkLogin({ env: {}, home, askClaude: unexpected, ...parts });

it.each([
  ['ANTHROPIC_API_KEY', 'an API key (ANTHROPIC_API_KEY)'],
  ['ANTHROPIC_AUTH_TOKEN', 'a token (ANTHROPIC_AUTH_TOKEN)'],
  ['CLAUDE_CODE_OAUTH_TOKEN', 'a long-lived login (CLAUDE_CODE_OAUTH_TOKEN)'],
  ['CLAUDE_CODE_USE_BEDROCK', 'the account of Amazon Bedrock (CLAUDE_CODE_USE_BEDROCK)'],
])('finds %s, and does not tell it', async (name, found) => {
  const finding = await check({ env: { [name]: 'very-secret' } });
  expect(finding).toMatchObject({ verdict: 'ok', advice: null });
  expect(finding.found).toBe(`${found}; the first message will show whether it is valid`);
});

it("finds a login in claude's settings", async () => {
  await put('settings.json', {
    env: { ANTHROPIC_API_KEY: 'very-secret', ANTHROPIC_BASE_URL: 'https://gate.example/v1' },
  });
  const { found } = await check();
  expect(found).toMatch(/^an API key \(ANTHROPIC_API_KEY in .*settings\.json\), through gate\.example;/);
  await put('settings.json', { apiKeyHelper: '/bin/key' });
  expect(await check()).toMatchObject({ verdict: 'ok', found: expect.stringContaining('apiKeyHelper') });
});

it("finds claude's own login, wherever claude keeps its files", async () => {
  await put('.credentials.json', { claudeAiOauth: { accessToken: 'very-secret', expiresAt: 1 } });
  const { verdict, found } = await check();
  expect(verdict).toBe('ok');
  expect(found).toMatch(/^a login in .*\.credentials\.json;/);
  expect(found).not.toContain('very-secret');
  const env = { CLAUDE_CONFIG_DIR: join(home, '.claude') };
  expect(await check({ env, home: '/nonexistent' })).toMatchObject({ verdict: 'ok' });
});

it('asks claude if it finds nothing itself', async () => {
  const askClaude = async () => ({ loggedIn: true, authMethod: 'claude.ai' });
  expect((await check({ askClaude })).found).toMatch(/^claude says that it is logged in \(claude\.ai\);/);
});

it('reports a missing login if claude says so', async () => {
  const finding = await check({ askClaude: async () => ({ loggedIn: false, authMethod: 'none' }) });
  expect(finding).toMatchObject({ verdict: 'problem', found: 'claude is not logged in, and there is no API key' });
  expect(finding.advice).toContain('log in');
});

it('says that the login cannot be checked', async () => {
  await put('settings.json', 'no settings');
  await put('.credentials.json', { claudeAiOauth: { accessToken: '' } });
  expect((await check({ askClaude: async () => null })).found).toContain('cannot be checked here');
  const env = { ANTHROPIC_BASE_URL: 'http://localhost:9', ANTHROPIC_API_KEY: '' };
  const finding = await check({ env, askClaude: async () => ({ loggedIn: false, authMethod: 'none' }) });
  expect(finding).toMatchObject({ verdict: 'warning', found: expect.stringContaining('through localhost:9') });
});
