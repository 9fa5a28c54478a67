import { join } from 'node:path';
import { commands } from '@callboard/contract';
import { expect, it, onTestFinished } from 'vitest';
import { callApi } from '../support/api.ts';
import { openStage } from '../support/open-stage.ts';

it('lists processes that outlive a session without its marker, and ends one when a person says so', async () => {
  const command = "env -i sh -c 'sleep 310 & sleep 311 &'";
  const script = { steps: [{ tools: [{ name: 'Bash', input: { command } }] }, { text: 'The server is up.' }] };
  const { page, errors, origin, stage } = await openStage(script, 'Start a server', { sandbox: false }); // in the sandbox they would end
  const list = async () => {
    const response = await callApi(origin, 'GET', `/api/sessions/${stage.id}/processes`);
    return commands.get_leftovers.reply.parse(await response.json()).processes;
  };
  const end = async () => {
    const pids = (await list()).map(({ pid }) => pid);
    if (pids.length > 0) await callApi(origin, 'POST', `/api/sessions/${stage.id}/processes/end`, { pids });
  };
  onTestFinished(end); // in case it fails half-way
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.getByText('The server is up.').waitFor();
  const section = page.getByRole('region', { name: 'still running' });
  expect(await section.count()).toBe(0);
  await callApi(origin, 'POST', `/api/stages/${stage.id}/stop`);
  await page.getByRole('heading', { name: '2 processes of this session are still running' }).waitFor();
  await section.getByText('sleep 310').waitFor();
  const shots = process.env.CALLBOARD_SHOTS;
  const shoot = async (name: string) => {
    if (shots !== undefined) await page.screenshot({ path: join(shots, `${name}.png`) });
  };
  await page.emulateMedia({ colorScheme: 'dark' });
  await shoot('left-processes');
  await page.setViewportSize({ width: 390, height: 844 });
  await shoot('left-processes-phone');
  await section.getByRole('button', { name: 'End 2 processes' }).click();
  // A narrower page is built anew, so that the section may be gone for a moment before.
  await expect.poll(list).toEqual([]);
  await section.waitFor({ state: 'detached' });
  await page.getByText('ended 2 processes that outlived the session').waitFor();
  expect(errors).toEqual([]);
});
