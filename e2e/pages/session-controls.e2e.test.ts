import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { mcpServer } from '../../test-support/mcp-server.ts';
import { openStage } from '../support/open-stage.ts';

it('shows background tasks, their output and the MCP servers; a person stops a task and reconnects a server', async () => {
  const command = 'printf "\\033[32mready\\033[0m on port 5173\\u202e\\n"; sleep 600';
  const input = { command, description: 'Start the dev server', run_in_background: true };
  const script = { steps: [{ tools: [{ name: 'Bash', input }] }, { text: 'The server is up.' }] };
  let broken = '';
  const { page, errors } = await openStage(script, 'Start a server', {}, async (repo) => {
    const folder = dirname(repo);
    broken = join(folder, 'broken');
    await writeFile(broken, '');
    const shop = mcpServer({ failsWhile: broken, tools: ['price'] });
    await mkdir(join(folder, 'home'), { recursive: true });
    await writeFile(join(folder, 'home', '.claude.json'), JSON.stringify({ mcpServers: { shop } }));
  });
  const shots = process.env.CALLBOARD_SHOTS;
  const shoot = async (name: string) => {
    if (shots === undefined) return;
    for (const colorScheme of ['light', 'dark'] as const)
      for (const [size, width, height] of [
        ['desk', 1280, 800],
        ['phone', 390, 844],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height });
        await page.waitForTimeout(300);
        await page.screenshot({ path: join(shots, `${name}-${size}-${colorScheme}.png`) });
      }
    await page.setViewportSize({ width: 1280, height: 800 });
  };
  await page.getByText('The server is up.').waitFor();

  const servers = page.getByRole('region', { name: 'MCP servers' });
  await servers.getByRole('button', { name: '1 MCP server: failed' }).press('Enter');
  await servers.getByText('Connection closed').waitFor();
  const tasks = page.getByRole('region', { name: 'Background tasks' });
  await tasks.getByRole('button', { name: '1 background task: Start the dev server' }).press('Enter');
  await shoot('panels');
  await servers.getByRole('button', { name: 'Reconnect shop' }).press('Enter');
  await page.getByText('did not connect: Connection closed').waitFor();
  await rm(broken);
  await servers.getByRole('button', { name: 'Reconnect shop' }).press('Enter');
  await servers.getByRole('button', { name: '1 MCP server: connected' }).waitFor();
  await servers.getByText('1 tool').waitFor();

  await tasks.getByRole('button', { name: 'Output of Start the dev server' }).press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Output of Start the dev server' });
  await dialog.getByText('ready on port 5173U+202E').waitFor();
  await shoot('output');
  await dialog.getByRole('button', { name: 'Stop' }).press('Enter');
  await dialog.getByText('Not running any more.').waitFor();
  await dialog.getByText('[killed]').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  expect(await tasks.count()).toBe(0);
  await page.getByText('stopped the background task "Start the dev server"').waitFor();
  expect(errors.filter((error) => !error.includes('409'))).toEqual([]); // the refused reconnect
});
