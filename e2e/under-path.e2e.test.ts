/** Callboard below a path of a host that other programs share, behind the proxies that the page on phones names. */
import { join } from 'node:path';
import { WORKER_PATH } from '@callboard/contract';
import { prompt } from '@callboard/scripted-model';
import { expect, it, onTestFinished } from 'vitest';
import { isInstalled } from '../scripts/debian.ts';
import { freePort } from '../test-support/free-port.ts';
import { askHttps } from '../test-support/https-client.ts';
import { callApi } from './support/api.ts';
import { openBrowser } from './support/browser.ts';
import { install } from './support/callboard.ts';
import { type ProxyName, startProxy } from './support/proxies.ts';

const PROXIES: [ProxyName & ('nginx' | 'caddy'), boolean][] = [
  ['nginx', isInstalled('nginx') && isInstalled('openssl')],
  ['caddy', isInstalled('caddy')],
];

for (const [name, isThere] of PROXIES)
  it.skipIf(!isThere)(`works below a path behind ${name} (needs ${name})`, async () => {
    const [own, outside] = [await freePort(), await freePort()];
    const publicUrl = `https://callboard.localhost:${outside}/team/board`;
    const { start, command, folder } = await install({}, onTestFinished, true);
    const options = ['--behind-proxy', '127.0.0.1', '--public-url', `${publicUrl}/`];
    const { loginLink, stop } = await start(own, undefined, options);
    onTestFinished(stop);
    expect(loginLink).toMatch(`${publicUrl}/login?code=`);
    const at = { folder: join(folder, name), publicUrl, port: outside, callboardPorts: [own] };
    const site = await startProxy(name, at, onTestFinished);
    expect((await askHttps(site, '/team/board/api/health')).body).toContain('"status"');
    expect((await askHttps(site, '/api/health')).body).not.toContain('"status"'); // belongs to others

    const { page, context, errors } = await openBrowser({ trustsAll: true, hasWorker: true });
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(new URL(request.url()).pathname));
    await page.goto(loginLink);
    await page.getByRole('region', { name: 'Backlog' }).waitFor();
    expect(page.url()).toBe(`${publicUrl}/`);
    const cookies = (await context.cookies()).filter(({ name: cookie }) => cookie.includes('session'));
    expect(cookies).toMatchObject([{ name: expect.stringMatching(/^__Secure-/), path: '/team/board', secure: true }]);
    const worker = () => page.evaluate(() => navigator.serviceWorker.controller?.scriptURL);
    await expect.poll(worker).toBe(`${publicUrl}${WORKER_PATH}`);
    const scope = () => page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.scope);
    expect(await scope()).toBe(`${publicUrl}/`);
    const manifest = await askHttps(site, '/team/board/manifest.webmanifest');
    expect(JSON.parse(manifest.body)).toMatchObject({ scope: '.', start_url: '.' });

    const local = `http://127.0.0.1:${own}`;
    const steps = [{ tools: [{ name: 'Bash', input: { command: 'touch a', description: 'Do it' } }] }];
    const made = { projectId: 'shop', title: 'Login form', prompt: prompt({ steps }, 'Login form') };
    const { stage } = await (await callApi(local, 'POST', '/api/stages', made)).json();
    await callApi(local, 'POST', `/api/stages/${stage.id}/start`);
    const request = page.getByRole('dialog', { name: 'Login form: Run this command?' });
    await request.getByRole('button', { name: 'Allow', exact: true }).click();
    const card = page.getByRole('region', { name: 'Review' }).getByRole('link', { name: 'Login form' });
    await card.click();
    await page.getByRole('region', { name: 'Transcript' }).getByText('touch a').first().waitFor();
    expect(page.url()).toBe(`${publicUrl}/stages/${stage.id}`);
    await page.reload();
    await page.getByRole('region', { name: 'Transcript' }).getByText('touch a').first().waitFor();
    await page.goBack();
    await card.waitFor();
    // Everything was asked for below the path, by the pages and the worker alike.
    expect(asked.filter((path) => !path.startsWith('/team/board/'))).toEqual([]);
    expect(errors).toEqual([]);

    // A page that was opened by its own port goes where it belongs, and programs of this machine need no path.
    expect(await command('link')).toMatchObject({ output: expect.stringContaining(`${publicUrl}/login?code=`) });
    const here = await context.newPage();
    await here.goto(`${local}/inbox`);
    await here.waitForURL(`${local}/team/board/inbox`);

    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await page
      .getByRole('heading', { name: 'Not logged in' })
      .or(page.getByText(/npx callboard link/))
      .first()
      .waitFor();
    expect((await context.cookies()).filter(({ name: cookie }) => cookie.includes('session'))).toEqual([]);
  });
