/** `node scripts/icons.ts`: draws the icons of the installed board from its favicon, with Chromium. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { root } from './bundles.ts';
import { findChromium } from './chromium.ts';

const folder = join(root, 'tools/web-server/src/client/public');
const favicon = await readFile(join(folder, 'favicon.svg'), 'utf8');
/** Systems cut a maskable icon to their own shape: the ground fills it, and the sign stays in the middle four fifths. */
const maskable = favicon
  .replace('rx="7"', '')
  .replace('<g fill', '<g transform="translate(16 16) scale(.8) translate(-16 -16)" fill');
/** Systems use nothing of a badge but its transparency. */
const badge = favicon.replace(/<rect width="32"[^>]*>/, '');

const icons = [
  ['icon-192', favicon, 192],
  ['icon-512', favicon, 512],
  ['icon-maskable-512', maskable, 512],
  ['icon-touch-180', maskable, 180],
  ['badge-96', badge, 96],
] as const;

const executablePath = findChromium();
if (executablePath === null) throw new Error('Chromium is not installed. npm test installs it.');
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] });
for (const [name, svg, size] of icons) {
  const page = await browser.newPage({ viewport: { width: size, height: size } });
  await page.setContent(`<style>body { margin: 0 } svg { display: block; width: 100vw }</style>${svg}`);
  await page.screenshot({ path: join(folder, `${name}.png`), omitBackground: true });
  await page.close();
}
await browser.close();
